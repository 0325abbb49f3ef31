// `session:trimmed`: what a session lost, for an archive.
import { afterEach, describe, expect, test } from 'vitest'
import { startTalk } from '../../../testing/contract/compaction-talk.js'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { flowOf as flowOfSteps } from '../../../testing/contract/test-flows.js'
import { scriptedProvider } from '../../../testing/index.js'
import { slidingWindow } from '../../compaction/index.js'
import { FlowEngine, type FlowEngineOptions, reply, Step } from '../../index.js'

afterEach(expectNothingLeft)

class Chat extends Step {
  static override readonly id = 'Chat'
}

/** A session of one model step, its events, and a turn of it. */
function started(limits: FlowEngineOptions['limits'], more: FlowEngineOptions = {}) {
  const providers = [scriptedProvider(({ origin }) => `Re: ${origin.turnNumber}`)]
  const made = harness({ flows: [flowOfSteps(Chat)], providers, ...(limits === undefined ? {} : { limits }), ...more })
  const events = recordEvents(made.engine)
  let session = ''
  return {
    ...made,
    events,
    trimmed: () => events.flatMap(([name, payload]) => (name === 'session:trimmed' ? [payload] : [])),
    session: () => session,
    async say(userMessage: string, photo?: string) {
      const attachments = photo === undefined ? [] : [{ type: 'image' as const, mediaType: 'image/png', data: photo }]
      const input = { flowName: 'Test', userMessage, attachments }
      const response = await made.engine.run(session === '' ? input : { ...input, sessionId: session })
      session = response.session
      return response
    },
  }
}

describe('session:trimmed', () => {
  test('carries what was dropped, by list, after the commit; frozen, and stored no more', async () => {
    const talk = started({ maxHistoryTurns: 4, maxMemoryBytes: 880, attachmentTurns: 1 })
    const { say, trimmed, document, session } = talk
    await say('One', 'AAAA')
    const first = await document(session())
    for (const text of ['Two', 'Three', 'Four']) await say(text)
    const before = await document(session())
    talk.events.length = 0
    await say('x'.repeat(250))
    const after = await document(session())
    expect(trimmed()).toEqual([
      {
        sessionId: session(),
        flowName: 'Test',
        turnId: after.history.at(-1)?.id,
        at: talk.clock.now(),
        history: before.history.slice(0, 2),
        memory: { Chat: before.flow.memory.Chat?.messages.slice(0, 4) },
        attachments: [],
      },
    ])
    expect(after.history.map(({ turn }) => turn)).toEqual([3, 4, 5])
    expect(after.flow.memory.Chat?.messages.map(({ turn }) => turn)).toEqual([3, 3, 4, 4, 5, 5])
    const names = talk.events.map(([name]) => name)
    expect(names.indexOf('session:trimmed')).toBe(names.indexOf('session:saved') + 1)
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
    expect(trimmed().every(isFrozen)).toBe(true)
    expect(first.attachments).toHaveLength(1)
  })

  test('carries the bytes of attachments, and the message that referred to them stays', async () => {
    const { say, trimmed, document, session } = started({ attachmentTurns: 2 })
    await say('One', 'AAAA')
    await say('Two', 'BBBB')
    expect(trimmed()).toEqual([])
    await say('Three')
    expect(trimmed()).toMatchObject([{ history: [], memory: {}, attachments: [{ id: '1-0', turn: 1, data: 'AAAA' }] }])
    const { flow, attachments } = await document(session())
    expect(attachments).toEqual([{ id: '2-0', turn: 2, data: 'BBBB' }])
    expect(flow.memory.Chat?.messages[0]?.parts[1]).toMatchObject({ type: 'image', attachment: '1-0' })
    await say('Four')
    await say('Five')
    expect(trimmed()).toHaveLength(2)
  })

  test('is emitted for maxSessionBytes, too, with all that it cut', async () => {
    const { say, trimmed, document, session } = started({ maxSessionBytes: 3400 })
    await say('One', 'A'.repeat(1000))
    await say('Two', 'B'.repeat(2800))
    expect(trimmed()).toMatchObject([
      { history: [{ turn: 1 }], memory: { Chat: [{ turn: 1 }, { turn: 1 }] }, attachments: [{ turn: 1 }] },
    ])
    expect((await document(session())).attachments?.map(({ turn }) => turn)).toEqual([2])
  })

  test('is emitted for a sliding window', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) })
    const trimmed: unknown[] = []
    talk.engine.on('session:trimmed', ({ history, memory, attachments }) =>
      trimmed.push({ history, memory, attachments }),
    )
    await talk.sayTurns(2)
    const { flow } = await talk.document(talk.sessionId)
    expect(trimmed).toEqual([])
    await talk.sayTurns(1, 3)
    expect(trimmed).toEqual([{ history: [], memory: { Chat: flow.memory.Chat?.messages }, attachments: [] }])
  })

  test('is one event where a window and limits both cut', async () => {
    const talk = startTalk({ Chat: slidingWindow({ above: 4, keep: 2 }) }, { limits: { maxHistoryTurns: 2 } })
    const trimmed: { history: readonly unknown[]; memory: object }[] = []
    talk.engine.on('session:trimmed', (payload) => trimmed.push(payload))
    await talk.sayTurns(3)
    expect(trimmed.map(({ history, memory }) => [history.length, Object.keys(memory)])).toEqual([[2, ['Chat']]])
  })

  test('adds up to the whole conversation: an archive has what the session lost, and the session the rest', async () => {
    const { say, trimmed, document, session } = started({ maxHistoryTurns: 5, maxMemoryBytes: 900 })
    for (let turn = 1; turn <= 30; turn++) await say(`Turn ${turn}`)
    const { history, flow } = await document(session())
    const lost = trimmed() as { history: { turn: number }[]; memory: Record<string, { turn: number }[]> }[]
    const numbers = [...lost.flatMap((one) => one.history), ...history].map(({ turn }) => turn)
    expect(numbers).toEqual(Array.from({ length: 30 }, (_, index) => index + 1))
    const messages = [...lost.flatMap((one) => one.memory.Chat ?? []), ...(flow.memory.Chat?.messages ?? [])]
    expect(messages.map(({ turn }) => turn)).toEqual(numbers.flatMap((turn) => [turn, turn]))
  })
})

describe('nothing is emitted', () => {
  test('for a turn that removes nothing', async () => {
    const { say, trimmed } = started(undefined)
    for (const text of ['One', 'Two', 'Three']) await say(text)
    expect(trimmed()).toEqual([])
  })

  test.each([
    ['aborts the session', 'fail'],
    ['is refused', 'x'.repeat(5000)],
  ])('for a turn that %s', async (_name, text) => {
    const talk = flowOf('Talk', ({ message }) =>
      message === 'fail' ? Promise.reject(new Error('No.')) : reply(message),
    )
    const limits = { maxHistoryTurns: 2, maxSessionBytes: 4000 }
    const { engine, start, document } = harness({ flows: [talk], limits })
    const events = recordEvents(engine)
    const sessionId = await start('Talk')
    await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId })
    expect((await engine.run({ flowName: 'Talk', userMessage: text, sessionId })).success).toBe(false)
    expect(events.map(([name]) => name)).not.toContain('session:trimmed')
    expect((await document(sessionId)).history.map(({ turn }) => turn)).toEqual([1, 2])
  })

  test('for a turn whose save fails, or is in conflict', async () => {
    const { engine, start, store } = harness({ flows: [flowOf('Talk')], limits: { maxHistoryTurns: 1 } })
    const events = recordEvents(engine)
    const sessionId = await start('Talk')
    const say = () => engine.run({ flowName: 'Talk', userMessage: 'two', sessionId })
    store.rivalWrites()
    expect((await say()).success).toBe(false)
    store.failNext('save', { times: 3 })
    expect((await say()).success).toBe(false)
    expect(events.map(([name]) => name)).not.toContain('session:trimmed')
  })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('The archive is full.')
    },
  ],
  ['rejects', () => Promise.reject(new Error('The archive is full.'))],
])('a listener that %s changes nothing', async (_name, listener) => {
  const problems: unknown[] = []
  const { say, engine, document, session, events } = started(
    { maxHistoryTurns: 2 },
    { onListenerError: (error) => problems.push(error) },
  )
  engine.on('session:trimmed', listener as () => void)
  for (const text of ['1', '2', '3', '4', '5']) expect((await say(text)).success).toBe(true)
  expect(problems).toHaveLength(2)
  expect((await document(session())).turns).toBe(5)
  expect(events.filter(([name]) => name === 'session:trimmed')).toHaveLength(2)
})

test('without a listener the turn is the same', async () => {
  const engine = new FlowEngine({ flows: [flowOf('Talk')], limits: { maxHistoryTurns: 1 } })
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'one' })
  expect(await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId: session })).toMatchObject({
    success: true,
  })
  expect((await engine.getSession(session))?.history).toHaveLength(1)
  await engine.close()
})
