// Sessions that would become too large: their oldest entries go; what one turn alone adds can be
// refused, and then they go on.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { flowOf as flowOfSteps } from '../../../testing/contract/test-flows.js'
import { Conversation, scriptedProvider } from '../../../testing/index.js'
import { go, LogicStep, reply, Step, type StepConstructor, type Turn } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

const sentence = 'The session exceeds the limit maxSessionBytes (4000).'
const limits = { maxSessionBytes: 4000 }

class Chat extends Step {
  static override readonly id = 'Chat'
}

describe('a turn that adds more than a session can hold', () => {
  test('is refused; the session is as before, with the error and what was spent, and goes on', async () => {
    const usage = { inputTokens: 5, outputTokens: 3 }
    await using conversation = new Conversation(flowOfSteps(Chat), {
      script: ({ origin }) => ({ text: origin.turnNumber === 2 ? 'x'.repeat(5000) : 'Hello.', usage }),
      limits,
    })
    await conversation.say('Hi')
    const before = await conversation.document()
    // The same number is asked for again: what was refused does not count as a turn.
    await conversation.say('Go on')
    conversation.expectError('LIMIT_EXCEEDED', sentence)
    const refused = await conversation.document()
    expect(refused).toEqual({
      ...before,
      revision: expect.stringMatching(/^2-/),
      error: [sentence],
      usage: { inputTokens: 10, outputTokens: 6, modelCalls: 2 },
    })
    expect(refused.runStatus).toBe('running')
    expect(conversation.store.journal.at(-1)?.hint).toEqual({ appended: {} })
  })

  test('as the first of a session leaves one at its beginning, which goes on', async () => {
    const { engine, document, backing } = harness({ flows: [flowOf('Talk')], limits })
    const events = recordEvents(engine)
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'x'.repeat(3000) })
    const { session } = response
    expect([response.success, response.message, error?.code]).toEqual([false, sentence, 'LIMIT_EXCEEDED'])
    expect([...backing.keys()]).toEqual([session])
    expect(await document(session)).toMatchObject({
      revision: expect.stringMatching(/^1-/),
      runStatus: 'running',
      error: [sentence],
      turns: 0,
      bytes: 0,
      history: [],
      flow: { currentStep: null, steps: {}, memory: {} },
    })
    const names = events.map(([name]) => name)
    expect(names.filter((name) => name.startsWith('session:'))).toEqual(['session:created'])
    const next = await engine.run({ flowName: 'Talk', userMessage: 'short', sessionId: session })
    expect(next).toMatchObject({ success: true, message: 'You said: short', session })
    expect(await document(session)).toMatchObject({ turns: 1, error: [sentence], history: [{ turn: 1 }] })
  })

  test('is one whose attachments alone are too large', async () => {
    await using conversation = new Conversation(flowOfSteps(Chat), { script: () => 'Hello.', limits })
    await conversation.say('Hi')
    const data = 'AAAA'.repeat(1000)
    await conversation.say('Look', { attachments: [{ type: 'image', mediaType: 'image/png', data }] })
    conversation.expectError('LIMIT_EXCEEDED', sentence)
    await conversation.say('And now?')
    conversation.expectReply('Hello.')
    expect(await conversation.document()).not.toHaveProperty('attachments')
  })

  test('is one whose state is too large; what was removed for it is there again', async () => {
    const talk = flowOf('Talk', ({ message }, step) => {
      if (message.startsWith('keep')) step.state.text = message
      return reply('Kept.')
    })
    const { engine, start, document } = harness({ flows: [talk], limits })
    const events = recordEvents(engine)
    const sessionId = await start('Talk')
    for (const userMessage of ['a'.repeat(700), 'b'.repeat(700)])
      await engine.run({ flowName: 'Talk', userMessage, sessionId })
    const before = await document(sessionId)
    const refused = await engine.run({ flowName: 'Talk', userMessage: `keep${'c'.repeat(3990)}`, sessionId })
    expect(refused).toMatchObject({ success: false, message: sentence })
    expect(await document(sessionId)).toMatchObject({ history: before.history, flow: before.flow, bytes: before.bytes })
    expect(events.map(([name]) => name)).not.toContain('session:trimmed')
    expect(events.map(([name]) => name)).not.toContain('session:aborted')
  })

  test('is a streamed answer that never ends: the stream ends with the error, and the next turn is answered', async () => {
    const answers = ['Hello.', 'x'.repeat(5000), 'Here I am.']
    const { engine, document, clock } = harness({
      flows: [
        class extends flowOfSteps(Chat) {
          static override readonly id = 'Stream'
        },
      ],
      providers: [scriptedProvider(() => answers.shift() ?? '')],
      limits,
    })
    const { session } = await engine.run({ flowName: 'Stream', userMessage: 'Hi' })
    const before = await document(session)
    const types: string[] = []
    const reading = (async () => {
      const input = { flowName: 'Stream', userMessage: 'Talk', sessionId: session }
      for await (const event of engine.stream(input)) types.push(event.type)
    })()
    await clock.runUntil(reading)
    expect([types[0], types.at(-1)]).toEqual(['session', 'error'])
    const after = await document(session)
    expect([after.runStatus, after.history, after.flow, after.error]).toEqual([
      'running',
      before.history,
      before.flow,
      [expect.stringContaining('maxSessionBytes (4000)')],
    ])
    const next = await engine.run({ flowName: 'Stream', userMessage: 'Still there?', sessionId: session })
    expect(next).toMatchObject({ success: true, message: 'Here I am.', session })
  })

  test('does not abort, however often it happens; other failures do', async () => {
    const talk = flowOf('Talk', ({ message }) => {
      if (message === 'fail') throw new Error('Broken.')
      return reply(message)
    })
    const { engine, start, document } = harness({ flows: [talk], limits })
    const sessionId = await start('Talk')
    const say = (userMessage: string) => engine.run({ flowName: 'Talk', userMessage, sessionId })
    for (let turn = 0; turn < 25; turn++) expect((await say('x'.repeat(2500))).success).toBe(false)
    const refused = await document(sessionId)
    expect([refused.runStatus, refused.turns, refused.error.length]).toEqual(['running', 1, 20])
    await say('fail')
    expect((await document(sessionId)).runStatus).toBe('aborted')
  })

  test('of which the error cannot be stored fails with both texts, and the session is as it was', async () => {
    const { engine, start, store, stored } = harness({ flows: [flowOf('Talk')], limits })
    const sessionId = await start('Talk')
    const before = await stored(sessionId)
    store.failNext('save', { times: 3 })
    const { message } = await engine.run({ flowName: 'Talk', userMessage: 'x'.repeat(2500), sessionId })
    expect(message).toBe(`${sentence} Saving the session failed: Session store failed to save session '${sessionId}'.`)
    expect(await stored(sessionId)).toBe(before)
  })
})

describe('on the defaults', () => {
  test('16 memories of 256 KiB, and then 500 turns of 8 KB, go on; the count of bytes stays right', async () => {
    const names = Array.from({ length: 16 }, (_, index) => `Chat${index}`)
    class Sort extends LogicStep {
      static override readonly id = 'Sort'
      override run({ message }: Turn) {
        return go(message.slice(0, message.indexOf(' ')))
      }
    }
    const chats = names.map(
      (name): StepConstructor =>
        class extends Step {
          static override readonly id = name
          override onReply(text: string) {
            return go(Sort).withReply(text)
          }
        },
    )
    const fourKilobytes = 'y'.repeat(4000)
    let answer = ''
    const talk = flowOfSteps(Sort, ...chats)
    const { engine, document } = harness({ flows: [talk], providers: [scriptedProvider(() => answer)] })
    let session = ''
    const say = async (userMessage: string): Promise<void> => {
      const input = { flowName: 'Test', userMessage }
      const response = await engine.run(session === '' ? input : { ...input, sessionId: session })
      if (!response.success) throw new Error(response.message)
      session = response.session
    }
    // Each memory gets its 256 KiB, in two turns; the history has as much again, and is cut.
    for (const name of names) {
      for (let turn = 0; turn < 2; turn++) {
        answer = 'z'.repeat(64_000)
        await say(`${name} ${'x'.repeat(64_000)}`)
      }
    }
    answer = fourKilobytes
    for (let turn = 0; turn < 500; turn++) await say(`${names[turn % 16]} ${fourKilobytes}`)
    const stored = await document(session)
    expect([stored.turns, stored.runStatus]).toEqual([532, 'running'])
    expect(JSON.stringify(stored).length).toBeLessThan(4 * 1024 * 1024)
    expect(stored.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(stored))))
    expect(stored.history.at(-1)?.turn).toBe(532)
    for (const name of names) expect(stored.flow.memory[name]?.messages.at(-1)?.turn).toBeGreaterThan(516)
  })

  test('12 photos of 1 MB go on, with the bytes of the last two', async () => {
    const { engine, document } = harness({
      flows: [flowOfSteps(Chat)],
      providers: [scriptedProvider(() => 'Nice.')],
    })
    let session = ''
    for (let turn = 1; turn <= 12; turn++) {
      const data = 'A'.repeat(1_000_000)
      const attachments = [{ type: 'image' as const, mediaType: 'image/jpeg', data }]
      const input = { flowName: 'Test', userMessage: `Photo ${turn}`, attachments }
      const response = await engine.run(session === '' ? input : { ...input, sessionId: session })
      expect(response.success, `turn ${turn}`).toBe(true)
      session = response.session
    }
    const stored = await document(session)
    expect(stored.attachments?.map(({ turn }) => turn)).toEqual([11, 12])
    expect(stored.flow.memory.Chat?.messages).toHaveLength(24)
  })
})
