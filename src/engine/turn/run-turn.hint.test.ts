import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  type FlowHooks,
  flowOf,
  type Harness,
  harness,
} from '../../../testing/contract/engine-harness.js'
import { flowOf as flowOfSteps } from '../../../testing/contract/test-flows.js'
import { scriptedProvider } from '../../../testing/index.js'
import {
  Flow,
  LogicStep,
  type Message,
  reply,
  type SessionDocument,
  type SessionSaveHint,
  Step,
  type StepConstructor,
} from '../../index.js'

afterEach(expectNothingLeft)

/** The lists of a document, by the name that a hint knows them by. */
function listsOf({ history, flow, attachments = [] }: SessionDocument): Record<string, readonly unknown[]> {
  const memory = Object.entries(flow.memory).map(([name, { messages }]) => [`memory:${name}`, messages] as const)
  return Object.fromEntries([['history', history] as const, ['attachments', attachments] as const, ...memory])
}

/**
 * Notes the hint of each save, and what a store that trusts it would keep in place of each list that is not as told.
 */
function watchHints({ store, document: stored }: Harness): {
  readonly hints: (SessionSaveHint | undefined)[]
  readonly lies: string[]
} {
  const hints: (SessionSaveHint | undefined)[] = []
  const lies: string[] = []
  const save = store.save.bind(store)
  store.save = async (document, expectedRevision, hint) => {
    hints.push(hint)
    if (hint !== undefined) {
      const [before, after] = [listsOf(await stored(document.id)), listsOf(document)]
      for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
        const added = hint.appended[name] ?? 0
        const list = after[name] ?? []
        const kept = (before[name] ?? []).slice(hint.removed?.[name] ?? 0)
        if (hint.rewritten?.includes(name)) continue
        const trusted = [...kept, ...(added === 0 ? [] : list.slice(-added))]
        if (JSON.stringify(trusted) !== JSON.stringify(list)) lies.push(name)
      }
    }
    return save(document, expectedRevision, hint)
  }
  return { hints, lies }
}

const turn = { appended: { history: 1 } }
const nothing = { appended: {} }

/** A session of two turns of a flow with these hooks. */
async function session(hooks: FlowHooks) {
  const flow = flowOf(
    'Talk',
    ({ message }) => {
      if (message === 'fail') throw new Error('no')
      return reply(message)
    },
    hooks,
  )
  const made = harness({ flows: [flow] })
  const sessionId = await made.start('Talk')
  await made.rewrite(sessionId, (document) => {
    document.history = ['one', 'two', 'three'].map((message, index) => ({
      ...(document.history as readonly object[])[0],
      turn: index + 1,
      message,
    }))
    document.turns = 3
    document.flow.memory = { desk: { messages: [told('hello'), told('what'), told('well')] } }
  })
  const say = (userMessage: string) => made.engine.execute({ flowName: 'Talk', userMessage, sessionId })
  return { ...made, ...watchHints(made), sessionId, say }
}

function told(text: string): Message {
  return { role: 'user', parts: [{ type: 'text', text }], turn: 1 }
}

/** Another text in the middle: the list stays as long as it was, and its ends what they were. */
function redacted(document: SessionDocument): SessionDocument {
  const history = document.history.map((entry, index) => (index === 1 ? { ...entry, message: '***' } : entry))
  return { ...document, history }
}

function redactedMemory(document: SessionDocument): SessionDocument {
  const messages = [told('hello'), told('***'), told('well')]
  return { ...document, flow: { ...document.flow, memory: { desk: { messages } } } }
}

describe('what a save says that it only appended', () => {
  test.each<[string, FlowHooks, SessionSaveHint | undefined]>([
    ['an onRestore that changes no list', { onRestore: (document) => ({ ...document, error: ['seen'] }) }, turn],
    ['an onRestore that answers nothing', { onRestore: () => undefined }, turn],
    ['an onRestore that rewrites an entry of history', { onRestore: redacted }, undefined],
    ['an onRestore that rewrites a message', { onRestore: redactedMemory }, undefined],
    [
      'an onRestore that shortens history',
      { onRestore: (doc) => ({ ...doc, history: doc.history.slice(1) }) },
      undefined,
    ],
    [
      'an onRestore that drops a namespace',
      { onRestore: (document) => ({ ...document, flow: { ...document.flow, memory: {} } }) },
      undefined,
    ],
    [
      'an onRestore that makes a namespace',
      {
        onRestore: ({ flow, ...rest }) => ({
          ...rest,
          flow: { ...flow, memory: { ...flow.memory, more: { messages: [told('new')] } } },
        }),
      },
      undefined,
    ],
    ['an onRestore that adds attachments', { onRestore: (document) => ({ ...document, attachments: [] }) }, undefined],
    [
      'an onRestore that renames a namespace',
      {
        onRestore: ({ flow, ...rest }) => ({
          ...rest,
          flow: { ...flow, memory: { counter: flow.memory.desk ?? { messages: [] } } },
        }),
      },
      undefined,
    ],
  ])('is true after %s', async (_name, hooks, expected) => {
    const { hints, lies, say } = await session(hooks)
    expect((await say('go on')).response.success).toBe(true)
    expect(hints).toEqual([expected])
    expect(lies).toEqual([])
  })

  test('is true after an alias moved messages', async () => {
    class Talker extends LogicStep {
      static override readonly id = 'Talker'
      static override readonly aliases = ['desk']
      override run() {
        return reply('ok')
      }
    }
    class Talk extends Flow {
      static override readonly id = 'Talk'
      override steps(): readonly StepConstructor[] {
        return [Talker]
      }
    }
    const { backing, sessionId } = await session({})
    const made = harness({ flows: [Talk], backing })
    await made.rewrite(sessionId, (document) => {
      document.flow.currentStep = 'desk'
    })
    const { hints, lies } = watchHints(made)
    const input = { flowName: 'Talk', userMessage: 'go on', sessionId }
    await made.engine.run(input)
    expect(Object.keys((await made.document(sessionId)).flow.memory)).toEqual(['Talker'])
    await made.engine.run(input)
    expect(hints).toEqual([undefined, turn])
    expect(lies).toEqual([])
  })

  test('is true of the save that aborts: it keeps the lists as they were loaded', async () => {
    const { hints, lies, say, document, sessionId } = await session({ onRestore: redacted })
    expect((await say('fail')).error?.code).toBe('FLOW_ERROR')
    expect(await document(sessionId)).toMatchObject({ runStatus: 'aborted', history: [{}, { message: 'two' }, {}] })
    expect(hints).toEqual([nothing])
    expect(lies).toEqual([])
  })

  test('is true of turns that remove what is too much, from every list', async () => {
    class Chat extends Step {
      static override readonly id = 'Chat'
    }
    const made = harness({
      flows: [flowOfSteps(Chat)],
      providers: [scriptedProvider(() => 'Hello.')],
      limits: { maxHistoryTurns: 4, maxMemoryBytes: 800, attachmentTurns: 2 },
    })
    const { hints, lies } = watchHints(made)
    const sessionId = await made.start('Test')
    for (let number = 2; number <= 12; number++) {
      const data = 'AAAA'.repeat(number)
      const attachments = number % 3 === 0 ? [] : [{ type: 'image' as const, mediaType: 'image/png', data }]
      const input = { flowName: 'Test', userMessage: 'x'.repeat(10 * number), sessionId, attachments }
      expect((await made.engine.run(input)).success).toBe(true)
    }
    expect(lies).toEqual([])
    const removed = hints.flatMap((hint) => Object.keys(hint?.removed ?? {}))
    expect([...new Set(removed)].sort()).toEqual(['attachments', 'history', 'memory:Chat'])
    expect(hints.every((hint) => hint?.rewritten === undefined)).toBe(true)
  })

  test('is true of a checkpoint, and of the turn after it', async () => {
    const { hints, lies, say } = await session({ onRestore: redacted, isBatch: () => true })
    expect((await say('go on')).response.success).toBe(true)
    expect(hints).toEqual([nothing, undefined])
    expect(lies).toEqual([])
  })

  test('a turn without a hint is still known by its entry where its answer was lost', async () => {
    const { say, store, rewrite, clock, sessionId, document } = await session({ onRestore: redacted })
    store.inject({ operation: 'save', effect: 'fail-after' })
    store.inject({ operation: 'load', effect: 'latency', latencyMs: 10, nth: 2 })
    const saying = say('go on')
    await clock.settle()
    // The next turn, in another process, before this one has read its own back.
    await rewrite(sessionId, (stored) => Object.assign(stored, { revision: '9-theirs' }))
    await clock.advance(10)
    expect((await saying).response).toMatchObject({ success: true, message: 'go on' })
    expect((await document(sessionId)).history.map(({ message }) => message)).toEqual(['one', '***', 'three', 'go on'])
  })
})
