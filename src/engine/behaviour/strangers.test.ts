import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import type { EngineLimits, FlowRunInput } from '../../index.js'

afterEach(expectNothingLeft)

/** How long the store takes to load a document. */
const loadMs = 10

/** A session of Ada's, whose next turn waits at a gate, and a store that takes its time. */
async function adasTurn(unknownSession: 'new' | 'reject' = 'new', limits: Partial<EngineLimits> = {}) {
  const { flow, open, journal } = gatedFlow()
  const made = harness({ flows: [flow], unknownSession, limits })
  const { engine, store, clock } = made
  const first = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
  store.delayNext('load', loadMs, { times: Number.POSITIVE_INFINITY })
  const ada = (userMessage: string) =>
    engine.run({ flowName: 'Talk', userMessage, sessionId: first.session, owner: 'ada' })
  /** What somebody else's request gets, and how long it takes. */
  const ask = async (request: Request, sessionId: string) => {
    const begun = clock.now()
    const outcome = await request(made.engine, sessionId)
    return { outcome: JSON.parse(JSON.stringify(outcome).replaceAll(sessionId, 'the ID')), ms: clock.now() - begun }
  }
  return { ...made, session: first.session, ada, ask, open, journal }
}

type Request = (engine: Awaited<ReturnType<typeof adasTurn>>['engine'], sessionId: string) => Promise<unknown>

const run =
  (owner: string | undefined): Request =>
  async (engine, sessionId) => {
    const input: FlowRunInput = { flowName: 'Talk', userMessage: 'start', sessionId, ...(owner && { owner }) }
    const { response, error, sessionState, restarted } = await engine.execute(input)
    // A new session has a random ID.
    return {
      ...response,
      session: response.session === sessionId ? sessionId : 'another',
      code: error?.code,
      sessionState,
      restarted,
    }
  }

const remove =
  (owner: string | undefined): Request =>
  (engine, sessionId) =>
    engine.executeDelete(sessionId, owner === undefined ? {} : { owner })

describe('somebody who names another owner', () => {
  test.each([
    ['a run', run('bob')],
    ['a run of nobody', run(undefined)],
    ['a delete', remove('bob')],
    ['a delete of nobody', remove(undefined)],
  ])('with %s does not wait for the turn under way, once its document is loaded', async (_what, request) => {
    const { ada, ask, session, clock, open, stored } = await adasTurn()
    const before = await stored(session)
    const running = ada('a')
    await clock.advance(loadMs)
    expect((await clock.runUntil(ask(request, session))).ms).toBe(loadMs)
    expect(await stored(session)).toBe(before)
    open('a')
    expect(await running).toMatchObject({ success: true, session })
  })

  test('waits for nobody but those who name the same owner, also before a document is loaded; the others stay in order', async () => {
    const { engine, ada, ask, session, clock, open, journal } = await adasTurn()
    const running = [ada('a'), ada('b')]
    const strangers = [run('bob'), run(undefined), remove('bob'), remove(undefined)].map((one) => ask(one, session))
    const working = engine.getFlowSession().withSessionLock(session, () => journal.push('work'))
    const answers = await clock.runUntil(Promise.all(strangers))
    // The deletes wait for the load of the turn that names the same owner, as they do with an unknown ID.
    expect(answers.map(({ ms }) => ms)).toEqual([1, 1, 2, 2].map((loads) => loads * loadMs))
    open('a')
    open('b')
    await clock.runUntil(Promise.all([...running, working]))
    expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'work'])
  })

  test('fills no place in the queue of the owner, and the owner none of his', async () => {
    const { ada, ask, session, clock, open } = await adasTurn('new', { maxQueuedTurnsPerSession: 2 })
    const running = [ada('a')]
    const strangers = [1, 2, 3, 4].map(() => ask(run('bob'), session))
    running.push(ada('b'), ada('c'))
    const refused = await ada('d')
    expect(refused.message).toContain('maxQueuedTurnsPerSession')
    const answers = await clock.runUntil(Promise.all(strangers))
    expect(answers.map(({ outcome }) => outcome.code)).toEqual([undefined, undefined, undefined, 'LIMIT_EXCEEDED'])
    for (const message of ['a', 'b', 'c']) open(message)
    const all = await clock.runUntil(Promise.all(running))
    expect(all.map(({ success }) => success)).toEqual([true, true, true])
  })

  test('who came first does not keep the owner waiting', async () => {
    const { ada, ask, session, clock, open } = await adasTurn()
    const stranger = ask(run('bob'), session)
    open('a')
    const begun = clock.now()
    const answer = await clock.runUntil(ada('a'))
    expect([answer.success, answer.session, clock.now() - begun]).toEqual([true, session, loadMs])
    await stranger
  })

  test('waits for a delete by the application only until that has loaded the document', async () => {
    const { engine, ask, session, clock, store } = await adasTurn()
    store.delayNext('delete', 1000)
    const deleting = engine.deleteSession(session)
    const early = ask(run('bob'), session)
    await clock.advance(loadMs)
    const late = ask(run('bob'), session)
    const answers = await clock.runUntil(Promise.all([early, late]))
    expect(answers.map(({ ms }) => ms)).toEqual([2 * loadMs, loadMs])
    expect((await clock.runUntil(deleting)).success).toBe(true)
  })

  test('cannot run a session that becomes his while he is turned away', async () => {
    const { ada, session, clock, open, engine, rewrite, document } = await adasTurn()
    const running = ada('a')
    const say = () => engine.run({ flowName: 'Talk', userMessage: 'start', sessionId: session, owner: 'bob' })
    const [first, stranger] = [say(), say()]
    const deleting = engine.deleteSession(session, { owner: 'bob' })
    // The first one has loaded the document: the others leave the queue, and load it without the lock.
    await clock.advance(loadMs)
    await rewrite(session, (stored) => Object.assign(stored, { owner: 'bob' }))
    expect((await clock.runUntil(first)).session).not.toBe(session)
    const answer = await clock.runUntil(stranger)
    expect(answer.session).not.toBe(session)
    expect(await clock.runUntil(deleting)).toEqual({ success: true, session })
    expect((await document(session)).history).toHaveLength(1)
    open('a')
    await clock.runUntil(running)
  })
})

describe('the same as with an ID that nobody has', () => {
  /** The codes that requests of Bob's get which come at once, while a turn of Ada's runs or loads. */
  async function codesOf(isForeign: boolean, busy: 'reject' | 'queue', afterMs: number) {
    const { flow, open } = gatedFlow()
    const made = harness({ flows: [flow], busy, limits: { maxQueuedTurnsPerSession: 1 } })
    const { engine, store, clock } = made
    const first = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
    store.delayNext('load', loadMs, { times: Number.POSITIVE_INFINITY })
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: first.session, owner: 'ada' })
    await clock.advance(afterMs)
    const sessionId = isForeign ? first.session : 'unknown'
    const input = { flowName: 'Talk', userMessage: 'start', sessionId, owner: 'bob' }
    const answers = await clock.runUntil(Promise.all([1, 2, 3].map(() => engine.execute(input))))
    open('a')
    await clock.runUntil(running)
    return answers.map(({ error }) => error?.code)
  }

  test.each([
    ['reject', 0, [undefined, 'SESSION_BUSY', 'SESSION_BUSY']],
    ['reject', 2 * loadMs, [undefined, 'SESSION_BUSY', 'SESSION_BUSY']],
    ['queue', 0, [undefined, undefined, 'LIMIT_EXCEEDED']],
    ['queue', 2 * loadMs, [undefined, undefined, 'LIMIT_EXCEEDED']],
  ] as const)(
    "under '%s', requests that come at once, %s ms after the owner's turn began",
    async (busy, afterMs, codes) => {
      expect(await codesOf(false, busy, afterMs)).toEqual(codes)
      expect(await codesOf(true, busy, afterMs)).toEqual(codes)
    },
  )

  test('a request does not wait for what the flow of the owner does before its session is loaded', async () => {
    const flow = flowOf('Talk', undefined, { init: () => held.opened })
    const held = gate()
    held.open()
    const { engine, clock } = harness({ flows: [flow] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
    Object.assign(held, gate())
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session, owner: 'ada' })
    await clock.settle()
    expect(await clock.runUntil(engine.deleteSession(session, { owner: 'bob' }))).toEqual({ success: true, session })
    held.open()
    expect((await running).success).toBe(true)
  })

  test('a request with a key loads the session once', async () => {
    const { flow, open } = gatedFlow()
    const { engine, store, clock } = harness({ flows: [flow], busy: 'reject' })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session, owner: 'ada' })
    await clock.settle()
    store.clearJournal()
    const idempotencyKey = 'a-key-of-bob-0001'
    const input = { flowName: 'Talk', userMessage: 'start', sessionId: session, owner: 'bob', idempotencyKey }
    expect((await engine.execute(input)).restarted).toBe('unknown')
    expect(store.operations).toEqual(['load', 'claim', 'create'])
    open('a')
    await running
  })
})

test('an unknown ID is loaded once for each request, and no request waits for more than one of the others', async () => {
  const { ask, clock, store } = await adasTurn()
  const before = store.operations.length
  const answers = await clock.runUntil(Promise.all([1, 2, 3, 4].map(() => ask(run('bob'), 'unknown'))))
  expect(answers.map(({ ms }) => ms)).toEqual([loadMs, 2 * loadMs, 2 * loadMs, 2 * loadMs])
  expect(store.operations.slice(before).filter((operation) => operation === 'load')).toHaveLength(4)
})
