import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gatedFlow, harness } from '../../testing/contract/engine-harness.js'
import { recordEvents } from '../../testing/contract/event-recorder.js'
import type { EngineLimits, FlowRunInput } from '../index.js'

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

  test('leaves the queue as soon as the document is loaded; those who may wait stay', async () => {
    const { engine, ada, ask, session, clock, open, journal } = await adasTurn()
    const running = [ada('a'), ada('b')]
    const strangers = [run('bob'), run(undefined), remove('bob'), remove(undefined)].map((one) => ask(one, session))
    const working = engine.getFlowSession().withSessionLock(session, () => journal.push('work'))
    const answers = await clock.runUntil(Promise.all(strangers))
    // One load of the holder, and one of their own.
    expect(answers.map(({ ms }) => ms)).toEqual([2, 2, 2, 2].map((loads) => loads * loadMs))
    open('a')
    open('b')
    await clock.runUntil(Promise.all([...running, working]))
    expect(journal).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'work'])
  })

  test('fills no place in the queue of the owner, and the owner none of his', async () => {
    const { ada, ask, session, clock, open } = await adasTurn('new', { maxQueuedTurnsPerSession: 2 })
    const running = [ada('a')]
    const strangers = [1, 2, 3].map(() => ask(run('bob'), session))
    running.push(ada('b'), ada('c'))
    const refused = await ada('d')
    expect(refused.message).toContain('maxQueuedTurnsPerSession')
    const answers = await clock.runUntil(Promise.all(strangers))
    expect(answers.map(({ outcome }) => outcome.code)).toEqual([undefined, undefined, 'LIMIT_EXCEEDED'])
    for (const message of ['a', 'b', 'c']) open(message)
    const all = await clock.runUntil(Promise.all(running))
    expect(all.map(({ success }) => success)).toEqual([true, true, true])
  })

  test('who holds the lock releases it after the load: the owner waits no longer than that', async () => {
    const { ada, ask, session, clock, open } = await adasTurn()
    const stranger = ask(run('bob'), session)
    open('a')
    const begun = clock.now()
    const answer = await clock.runUntil(ada('a'))
    expect([answer.success, answer.session, clock.now() - begun]).toEqual([true, session, 2 * loadMs])
    await stranger
  })

  test('cannot run a session that becomes his while he is turned away', async () => {
    const { ada, session, clock, open, engine, rewrite, document } = await adasTurn()
    const running = ada('a')
    await clock.advance(loadMs)
    const stranger = engine.run({ flowName: 'Talk', userMessage: 'start', sessionId: session, owner: 'bob' })
    const deleting = engine.deleteSession(session, { owner: 'bob' })
    await rewrite(session, (stored) => Object.assign(stored, { owner: 'bob' }))
    const answer = await clock.runUntil(stranger)
    expect(answer.session).not.toBe(session)
    expect(await clock.runUntil(deleting)).toEqual({ success: true, session })
    expect((await document(session)).history).toHaveLength(1)
    open('a')
    await clock.runUntil(running)
  })
})

test('a session of another owner and an unknown ID have the same replies, events and waits', async () => {
  const requests = [run('bob'), run(undefined), remove('bob'), remove(undefined)]
  const scene = fc.record({
    unknownSession: fc.constantFrom<'new' | 'reject'>('new', 'reject'),
    // When the stranger comes, after the turn of the owner began. Undefined: no turn runs.
    afterMs: fc.constantFrom(undefined, 0, 3, loadMs, 25),
    asked: fc.array(fc.nat(requests.length - 1), { minLength: 1, maxLength: 4 }),
    isOwnerWaiting: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(scene, async ({ unknownSession, afterMs, asked, isOwnerWaiting }) => {
      const observe = async (isUnknown: boolean) => {
        const { engine, ada, ask, session, clock, open } = await adasTurn(unknownSession)
        const turns = afterMs === undefined ? [] : [ada('a')]
        if (afterMs !== undefined && isOwnerWaiting) turns.push(ada('b'))
        await clock.advance(afterMs ?? 0)
        const sessionId = isUnknown ? 'no-such-session' : session
        const events = recordEvents(engine)
        const answers = await clock.runUntil(
          Promise.all(asked.map((index) => ask(requests[index] as Request, sessionId))),
        )
        const seen = events.filter(([, { sessionId: id }]) => !isUnknown || id !== session)
        open('a')
        open('b')
        await clock.runUntil(Promise.all(turns))
        return { answers, names: seen.map(([name]) => name).filter((name) => name !== 'turn:queued') }
      }
      const [foreign, unknown] = [await observe(false), await observe(true)]
      expect(foreign.answers.map(({ outcome }) => outcome)).toEqual(unknown.answers.map(({ outcome }) => outcome))
      const isLoading = afterMs !== undefined && afterMs < loadMs
      for (const [index, { ms }] of foreign.answers.entries()) {
        const other = unknown.answers[index]?.ms ?? 0
        // While the owner's turn loads its document, a stranger waits for the rest of that one load.
        if (isLoading) expect(ms).toBeLessThanOrEqual(2 * loadMs)
        else expect(ms).toBeLessThanOrEqual(other)
        expect(ms).toBeGreaterThanOrEqual(loadMs)
      }
      if (!isLoading) expect([...foreign.names].sort()).toEqual([...unknown.names].sort())
    }),
    { numRuns: 60 },
  )
})

test('an unknown ID is loaded once for each request, and no request waits for more than one of the others', async () => {
  const { ask, clock, store } = await adasTurn()
  const before = store.operations.length
  const answers = await clock.runUntil(Promise.all([1, 2, 3, 4].map(() => ask(run('bob'), 'unknown'))))
  expect(answers.map(({ ms }) => ms)).toEqual([loadMs, 2 * loadMs, 2 * loadMs, 2 * loadMs])
  expect(store.operations.slice(before).filter((operation) => operation === 'load')).toHaveLength(4)
})
