// Sessions of layout 1, which an older release stored, and sessions of a layout that only a newer release reads.
import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  flowOf,
  type Harness,
  harness,
  type LooseDocument,
} from '../../../testing/contract/engine-harness.js'
import { flowOf as flowOfSteps, TestFlow } from '../../../testing/contract/test-flows.js'
import { type ScriptedProvider, scriptedProvider } from '../../../testing/index.js'
import {
  type FlowConstructor,
  go,
  type Message,
  reply,
  type SessionDocument,
  SessionFlowInvariantError,
  Step,
  type StepConstructor,
  type Turn,
} from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

const photo = (data: string) => ({ type: 'image', mediaType: 'image/png', data }) as const
const link = { type: 'file', mediaType: 'text/csv', url: 'https://files.example/a.csv' } as const

class Chat extends Step {
  static override readonly id: string = 'Chat'
}
class Other extends Step {
  static override readonly id = 'Other'
}

const userMessage = (turn: number, ...parts: readonly object[]) => ({
  role: 'user',
  parts: [{ type: 'text', text: `Message ${turn}` }, ...parts],
  turn,
})
const answer = (turn: number) => ({ role: 'assistant', parts: [{ type: 'text', text: `Reply ${turn}` }], turn })
const entry = (turn: number) => ({
  turn,
  at: '2025-12-31T00:00:00.000Z',
  message: `Message ${turn}`,
  reply: `Reply ${turn}`,
  contentType: 'text/plain',
  step: 'Chat',
})

/** Four turns with photos in turns 1, 3 and 4, as layout 1 had them: the bytes stand in the messages. */
const olderMemory = {
  Chat: {
    messages: [
      ...[userMessage(1, photo('AAAA'), link), answer(1), userMessage(2), answer(2)],
      ...[userMessage(3, photo('BBBB')), answer(3), userMessage(4, photo('CCCC'), photo('DDDD')), answer(4)],
    ],
  },
  Other: { messages: [userMessage(3, photo('BBBB')), answer(3)] },
}

/** What an older release left behind. */
function makeOlder(document: LooseDocument): void {
  const { turns: _turns, attachments: _attachments, ...rest } = document
  for (const key of Object.keys(document)) delete (document as Record<string, unknown>)[key]
  const { contentType: _contentType, ...flow } = rest.flow as Record<string, unknown>
  Object.assign(document, rest, {
    version: 1,
    bytes: 2000,
    history: [1, 2, 3, 4].map(entry),
    flow: { ...flow, currentStep: 'Chat', memory: olderMemory },
  })
}

async function olderSession(
  flow: FlowConstructor = flowOfSteps(Chat, Other),
  options: Parameters<typeof harness>[0] = {},
): Promise<
  Harness & {
    session: string
    provider: ScriptedProvider
    say(text?: string): ReturnType<Harness['engine']['execute']>
  }
> {
  const provider = scriptedProvider(({ origin }) => `Reply ${origin.turnNumber}`)
  const made = harness({ flows: [flow], providers: [provider], ...options })
  const session = await made.start('Test')
  await made.rewrite(session, makeOlder)
  made.store.clearJournal()
  const say = (userMessage = 'And now?') => made.engine.execute({ flowName: 'Test', userMessage, sessionId: session })
  return { ...made, session, provider, say }
}

const photosOf = (messages: readonly Message[] | undefined): string[] =>
  (messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === 'image') return [part.data ?? '']
      return part.type === 'text' && part.text.includes('no longer available') ? ['removed'] : []
    }),
  )

describe('a session of layout 1', () => {
  test('is read as it is stored, with the number of its turns', async () => {
    const { engine, session, document } = await olderSession()
    const stored = (await document(session)) as unknown as LooseDocument
    expect(await engine.getSession(session)).toEqual({
      ...stored,
      turns: 4,
      flow: { ...stored.flow, contentType: 'text/plain' },
    })
    expect(stored.version).toBe(1)
  })

  test('goes on: its model gets every photo, and after the turn it has layout 2 and the photos of two turns', async () => {
    const { session, provider, say, document, store } = await olderSession()
    expect((await say()).response).toMatchObject({ success: true, message: 'Reply 5', session })
    const received = provider.requests.at(-1)?.messages
    expect(photosOf(received)).toEqual(['AAAA', 'BBBB', 'CCCC', 'DDDD'])
    expect(received?.[0]?.parts).toEqual([{ type: 'text', text: 'Message 1' }, photo('AAAA'), link])
    const after = await document(session)
    expect([after.version, after.turns, after.history.map(({ turn }) => turn)]).toEqual([2, 5, [1, 2, 3, 4, 5]])
    expect(after.attachments).toEqual([
      { id: '4-0', turn: 4, data: 'CCCC' },
      { id: '4-1', turn: 4, data: 'DDDD' },
    ])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
    expect(JSON.stringify(after.flow.memory)).not.toMatch(/AAAA|BBBB|CCCC|DDDD/)
    // The stored lists are other ones: a store has to store them anew.
    expect(store.journal.at(-1)).toMatchObject({ operation: 'save' })
    expect(store.journal.at(-1)?.hint).toBeUndefined()
  })

  test('reads removed photos as texts in its next turn, and is saved with a hint again', async () => {
    const { provider, say, store } = await olderSession()
    await say()
    await say()
    expect(photosOf(provider.requests.at(-1)?.messages)).toEqual(['removed', 'removed', 'CCCC', 'DDDD'])
    expect(store.journal.at(-1)?.hint).toEqual({
      appended: { history: 1, 'memory:Chat': 2 },
      removed: { attachments: 2 },
    })
  })

  test('without photos becomes layout 2 with a hint: its lists are the stored ones', async () => {
    const made = await olderSession()
    await made.rewrite(made.session, ({ flow }) => {
      flow.memory = { Chat: { messages: [userMessage(1, link), answer(1)] } }
    })
    await made.say()
    expect(made.store.journal.at(-1)?.hint).toEqual({ appended: { history: 1, 'memory:Chat': 2 } })
    expect(await made.document(made.session)).toMatchObject({ version: 2, turns: 5 })
    expect(await made.document(made.session)).not.toHaveProperty('attachments')
  })

  test('keeps all photos where attachmentTurns says so, each once', async () => {
    const { session, say, document } = await olderSession(undefined, { limits: { attachmentTurns: 9 } })
    await say()
    expect((await document(session)).attachments?.map(({ id, data }) => [id, data])).toEqual([
      ['1-0', 'AAAA'],
      ['3-0', 'BBBB'],
      ['4-0', 'CCCC'],
      ['4-1', 'DDDD'],
    ])
  })

  test('whose turn fails is aborted as layout 2, with every photo and the turns that it had', async () => {
    class Failing extends Chat {
      override prompt({ number }: Turn): string {
        if (number > 1) throw new Error('Broken.')
        return ''
      }
    }
    const { session, say, document } = await olderSession(flowOfSteps(Failing, Other))
    const before = await document(session)
    expect((await say()).error?.code).toBe('FLOW_ERROR')
    const after = await document(session)
    expect(after).toMatchObject({ version: 2, runStatus: 'aborted', turns: 4, error: ['Broken.'] })
    expect(after.history).toEqual(before.history)
    expect(after.attachments?.map(({ data }) => data)).toEqual(['AAAA', 'BBBB', 'CCCC', 'DDDD'])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
  })

  test('whose turn is refused for its size goes on as layout 2', async () => {
    const provider = scriptedProvider(({ origin }) => (origin.turnNumber === 5 ? 'x'.repeat(9000) : 'Hello.'))
    const made = await olderSession(undefined, { limits: { maxSessionBytes: 4000 }, providers: [provider] })
    expect((await made.say()).error?.code).toBe('LIMIT_EXCEEDED')
    const after = await made.document(made.session)
    expect(after).toMatchObject({ version: 2, runStatus: 'running', turns: 4 })
    expect([after.attachments?.length, after.bytes]).toEqual([4, bytesOfLists(JSON.parse(JSON.stringify(after)))])
  })

  test('of a batch flow has layout 2 from its checkpoint on, and every turn is stored once', async () => {
    class Batch extends TestFlow {
      override steps(): readonly StepConstructor[] {
        return [Chat, Other]
      }
      override isBatch() {
        return true
      }
    }
    const { session, say, document, store } = await olderSession(Batch)
    await say()
    const after = await document(session)
    expect([after.version, after.turns, after.history.map(({ turn }) => turn)]).toEqual([2, 5, [1, 2, 3, 4, 5]])
    expect(after.attachments?.map(({ data }) => data)).toEqual(['CCCC', 'DDDD'])
    expect(store.operations).toEqual(['load', 'save', 'save'])
  })
})

describe('onRestore', () => {
  /** A flow that changes its document when a session goes on. */
  function restoring(change: (document: SessionDocument) => unknown): FlowConstructor {
    return class extends TestFlow {
      override steps(): readonly StepConstructor[] {
        return [Chat, Other]
      }
      override onRestore(document: SessionDocument): never {
        return change(document) as never
      }
    }
  }

  test('gets a session of layout 1 in this layout', async () => {
    let seen: SessionDocument | undefined
    const { say } = await olderSession(
      restoring((document) => {
        seen = document
      }),
    )
    await say()
    expect(seen).toMatchObject({
      version: 2,
      turns: 4,
      attachments: [{ id: '1-0' }, { id: '3-0' }, { id: '4-0' }, { id: '4-1' }],
    })
  })

  test('may put bytes into a message: they become an attachment, and are counted', async () => {
    const flow = restoring((document) => {
      const message = { ...userMessage(4, photo('EEEE'), photo('FFFF')) } as unknown as Message
      const messages = [...(document.flow.memory.Other?.messages ?? []), message]
      return { ...document, flow: { ...document.flow, memory: { ...document.flow.memory, Other: { messages } } } }
    })
    const { session, say, document } = await olderSession(flow)
    expect((await say()).response.success).toBe(true)
    const after = await document(session)
    expect(after.attachments).toEqual([
      { id: '4-0', turn: 4, data: 'CCCC' },
      { id: '4-1', turn: 4, data: 'DDDD' },
      { id: '4-2', turn: 4, data: 'EEEE' },
      { id: '4-3', turn: 4, data: 'FFFF' },
    ])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
    expect(JSON.stringify(after.flow.memory)).not.toContain('EEEE')
  })

  test('may put bytes into a message of the turn that begins: they are not those that the user sends', async () => {
    const flow = restoring((document) => {
      const message = { ...userMessage(5, photo('MENU')) } as unknown as Message
      return { ...document, flow: { ...document.flow, memory: { Chat: { messages: [message] } } } }
    })
    const made = await olderSession(flow)
    const attachments = [photo('MINE')]
    await made.engine.run({ flowName: 'Test', userMessage: 'Look', sessionId: made.session, attachments })
    expect(photosOf(made.provider.requests.at(-1)?.messages)).toEqual(['MENU', 'MINE'])
  })

  test('may return a document of layout 1: what is stored has this layout', async () => {
    const { session, say, document } = await olderSession(
      restoring(({ turns: _turns, attachments: _attachments, ...document }) => ({
        ...document,
        version: 1,
        flow: { ...document.flow, memory: JSON.parse(JSON.stringify(olderMemory)) },
      })),
    )
    expect((await say()).response.success).toBe(true)
    expect(await document(session)).toMatchObject({ version: 2, turns: 5, attachments: [{ id: '4-0' }, { id: '4-1' }] })
  })
})

describe('a session of a layout that only a newer release reads', () => {
  const problem = 'its layout version is 3, and this release reads 1 and 2'

  async function newerSession(owner?: string) {
    const talk = flowOf('Talk', ({ message }: Turn) => (message === 'go' ? go('Only') : reply(message)))
    const made = harness({ flows: [talk] })
    const input = { flowName: 'Talk', userMessage: 'start', ...(owner === undefined ? {} : { owner }) }
    const { session } = await made.engine.run(input)
    await made.rewrite(session, (document) => Object.assign(document, { version: 3, history: { first: 7 }, flow: [] }))
    return { ...made, session, before: await made.stored(session) }
  }
  const sentence = (session: string) =>
    `Session '${session}' was stored by a newer release of Turnkeeper and cannot be read: ${problem}.`

  test('is refused on run, says why, and keeps its bytes', async () => {
    const { engine, session, before, stored } = await newerSession()
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: session })
    expect(response).toMatchObject({ success: false, session, message: sentence(session) })
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409, newerLayout: true })
    expect(await stored(session)).toBe(before)
    await expect(engine.getSession(session)).rejects.toThrow(sentence(session))
  })

  test.each([
    ['its owner', 'ada', { owner: 'ada' }],
    ['a caller without a name, where it has no owner', undefined, {}],
  ])('is refused on a delete by %s, and keeps its bytes', async (_name, owner, options) => {
    const { engine, session, before, stored } = await newerSession(owner)
    expect(await engine.deleteSession(session, options)).toEqual({
      success: false,
      session,
      message: sentence(session),
    })
    expect(await stored(session)).toBe(before)
  })

  test("stays for somebody who is not its owner, as any stranger's session does", async () => {
    const { engine, session, before, stored } = await newerSession('ada')
    expect(await engine.deleteSession(session, { owner: 'eve' })).toMatchObject({ success: true })
    expect(await engine.deleteSession(session, {})).toMatchObject({ success: true })
    expect(await stored(session)).toBe(before)
  })

  test('is unknown to somebody who is not its owner: a run starts another session', async () => {
    const { engine, session, before, stored } = await newerSession('ada')
    const input = { flowName: 'Talk', userMessage: 'Hi', sessionId: session }
    for (const stranger of [{ ...input, owner: 'eve' }, input]) {
      const { response } = await engine.execute(stranger)
      expect([response.success, response.session === session]).toEqual([true, false])
    }
    expect(await stored(session)).toBe(before)
  })

  test.each([
    ['its owner', { owner: 'ada' }, false],
    ['a stranger', { owner: 'eve' }, true],
  ])('in a store that cannot read its head is for %s as in any other store', async (_name, who, isUnknown) => {
    const { engine, store } = harness({ flows: [flowOf('Talk', ({ message }) => reply(message))] })
    const error = (sessionId: string) =>
      new SessionFlowInvariantError({ sessionId, problem, newerLayout: true, owner: 'ada' })
    store.failNext('load', { error: error('s-1') })
    const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId: 's-1', ...who })
    expect([response.success, response.message]).toEqual(isUnknown ? [true, 'Hi'] : [false, sentence('s-1')])
    store.failNext('load', { error: error('s-1') })
    expect((await engine.deleteSession('s-1', who)).success).toBe(isUnknown)
  })

  test.each(['ada', undefined])('is deleted by the application itself (owner: %s)', async (owner) => {
    const { engine, session, backing } = await newerSession(owner)
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })
})

describe('receipts and effects of a session', () => {
  const receipts = [{ key: 'k-1', request: 'r-1', turn: 1 }]
  const effects = { charge: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, result: { id: 'ch-1' } } }

  test.each([
    ['a turn', 'Hi', 'running'],
    ['a turn that fails', 'fail', 'aborted'],
    ['a turn that is refused for its size', 'x'.repeat(9000), 'running'],
  ])('stay with it through %s, and are counted', async (_name, userMessage, runStatus) => {
    const talk = flowOf('Talk', ({ message }) => {
      if (message === 'fail') throw new Error('Broken.')
      return reply(message)
    })
    const { engine, start, rewrite, document, store } = harness({ flows: [talk], limits: { maxSessionBytes: 8000 } })
    const sessionId = await start('Talk')
    await rewrite(sessionId, (stored) => {
      Object.assign(stored, { receipts, effects })
      stored.bytes = bytesOfLists(stored as unknown as SessionDocument)
    })
    await engine.run({ flowName: 'Talk', userMessage, sessionId })
    const after = await document(sessionId)
    expect([after.receipts, after.effects, after.runStatus]).toEqual([receipts, effects, runStatus])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
    expect(Object.keys(store.journal.at(-1)?.hint?.appended ?? {})).not.toContain('receipts')
  })
})
