import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type Flow, type FlowConstructor, MemorySessionStore, reply } from '../../index.js'

afterEach(expectNothingLeft)

/** A flow that writes down what happens to it, together with the calls of the store. */
function journalled(isBatch: boolean) {
  const journal: string[] = []
  const note = (entry: string) => (): void => void journal.push(entry)
  const flow = flowOf(
    'Talk',
    (turn) => {
      journal.push(`run ${turn.number}`)
      return reply('hello')
    },
    {
      construct: note('construct'),
      init: note('init'),
      isBatch: () => isBatch,
      onRestore: note('flow.onRestore'),
      onStepRestore: note('step.onRestore'),
    },
  )
  const made = harness({ flows: [flow] })
  for (const operation of ['load', 'create', 'save'] as const) {
    const original = made.store[operation].bind(made.store) as (...args: readonly unknown[]) => Promise<never>
    made.store[operation] = (...args: readonly unknown[]) => {
      journal.push(operation)
      return original(...args)
    }
  }
  return { ...made, journal }
}

describe('the order of one turn', () => {
  test('[4.5-3] first: the flow object, its init, the steps; then they run; then one write', async () => {
    const { engine, journal } = journalled(false)
    await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(journal).toEqual(['construct', 'init', 'run 1', 'create'])
  })

  test('[4.5-3] later: the session is loaded after init, and restored before the steps run', async () => {
    const { engine, journal, start } = journalled(false)
    const sessionId = await start('Talk')
    journal.length = 0
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
    expect(journal).toEqual(['construct', 'init', 'load', 'flow.onRestore', 'step.onRestore', 'run 2', 'save'])
  })

  test('[4.5-3] a batch flow saves once more, before the turn runs', async () => {
    const { engine, journal } = journalled(true)
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(journal).toEqual(['construct', 'init', 'create', 'run 1', 'save'])
    journal.length = 0
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(journal).toEqual(['construct', 'init', 'load', 'flow.onRestore', 'save', 'step.onRestore', 'run 2', 'save'])
  })
})

describe('a store that evicts', () => {
  /** Notes what is held. */
  function holding() {
    const journal: string[] = []
    const made = harness({
      flows: [flowOf('Talk', (turn) => (turn.message === 'fail' ? reply(5 as never) : reply('ok')))],
    })
    made.store.hold = (sessionId) => {
      journal.push(`hold ${sessionId === '' ? 'nothing' : 'it'}`)
      return () => journal.push('release')
    }
    return { ...made, journal }
  }

  test('is asked to hold the session of a turn, and told when the turn has ended, whichever way', async () => {
    const { engine, journal, start } = holding()
    const sessionId = await start('Talk')
    journal.length = 0
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
    expect(journal).toEqual(['hold it', 'release'])
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId })
    expect(journal).toEqual(['hold it', 'release', 'hold it', 'release'])
    await engine.run({ flowName: 'Nobody', userMessage: 'hello', sessionId })
    expect(journal).toHaveLength(6)
  })

  test('does not lose a session in the middle of its turn', async () => {
    const flow: FlowConstructor = flowOf('Talk', async (turn) => {
      if (turn.message === 'crowd') {
        for (const userMessage of ['a', 'b', 'c']) await engine.run({ flowName: 'Talk', userMessage })
      }
      return reply('ok')
    })
    const { engine, start } = harness({ flows: [flow], sessionStore: new MemorySessionStore({ maxSessions: 2 }) })
    const sessionId = await start('Talk')
    expect(await engine.run({ flowName: 'Talk', userMessage: 'crowd', sessionId })).toMatchObject({
      success: true,
      session: sessionId,
    })
    expect(await engine.getSession(sessionId)).toMatchObject({ history: { length: 2 } })
  })

  test('a hold that throws fails the turn with the sentence of the engine', async () => {
    const { engine, store, start, stored } = harness({ flows: [flowOf('Talk')] })
    const session = await start('Talk')
    const before = await stored(session)
    store.hold = () => {
      throw new Error('at redis://user:hunter2@host')
    }
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response.message).toBe(`Session store failed to load session '${session}'.`)
    expect(error?.code).toBe('SESSION_STORE_ERROR')
    expect(await stored(session)).toBe(before)
  })

  test('a release that throws does not change the reply', async () => {
    const { engine, store, start, document } = harness({ flows: [flowOf('Talk')] })
    const session = await start('Talk')
    store.hold = () => () => {
      throw new Error('at redis://user:hunter2@host')
    }
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response).toMatchObject({ success: true, session })
    expect((await document(session)).history).toHaveLength(2)
  })
})

describe('what a turn writes', () => {
  test('is what it added, and a head that does not grow: the hint says how much', async () => {
    const hints: unknown[] = []
    const { engine, store, start } = harness({ flows: [flowOf('Talk', undefined, { isBatch: () => true })] })
    const save = store.save.bind(store)
    store.save = (document, expectedRevision, hint) => {
      hints.push([hint?.appended, document.history.length])
      return save(document, expectedRevision, hint)
    }
    const sessionId = await start('Talk')
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
    const turn = { history: 1 }
    const checkpoint = {}
    expect(hints).toEqual([
      [turn, 1],
      [checkpoint, 1],
      [turn, 2],
    ])
  })

  test('shares what was said before with what was loaded, and copies none of it', async () => {
    const { engine, store, start } = harness({ flows: [flowOf('Talk')] })
    const sessionId = await start('Talk')
    const [load, save] = [store.load.bind(store), store.save.bind(store)]
    const entries: unknown[] = []
    store.load = async (id) => {
      const document = await load(id)
      entries.push(document?.history[0])
      return document
    }
    store.save = (document, ...rest) => {
      entries.push(document.history[0])
      expect(Object.isFrozen(document.history) && document.history.every((entry) => Object.isFrozen(entry))).toBe(true)
      return save(document, ...rest)
    }
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
    expect(entries).toHaveLength(2)
    expect(entries[0]).toBe(entries[1])
  })
})

test('each turn has a flow object and steps of its own', async () => {
  const flows = new Set<Flow>()
  const steps = new Set<unknown>()
  const flow = flowOf(
    'Talk',
    (_turn, step) => {
      steps.add(step)
      return reply('ok')
    },
    { construct: (made) => flows.add(made) },
  )
  const { engine, start } = harness({ flows: [flow] })
  const sessionId = await start('Talk')
  await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
  await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })
  expect([flows.size, steps.size]).toEqual([3, 3])
})
