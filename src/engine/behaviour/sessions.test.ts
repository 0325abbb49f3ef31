// Operations on many sessions: listSessions, eraseOwner and sweep.
import { describe, expect, test } from 'vitest'
import { gate, gatedFlow, never } from '../../../testing/contract/engine-harness.js'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { FakeSessionStore, VirtualClock } from '../../../testing/index.js'
import {
  FlowEngine,
  MemorySessionStore,
  type SessionDocument,
  SessionFlowInvariantError,
  type SessionStore,
} from '../../index.js'
import { longestTurnMs } from '../core/engine-limits.js'
import { createEngineContext } from '../create-context.js'
import { eraseOwner } from '../sessions/erase-owner.js'
import type { SweepOptions } from '../sessions/session-options.js'

const day = 24 * 60 * 60 * 1_000
const start = Date.parse('2026-03-01T00:00:00.000Z')

/** An engine at a fixed time, over sessions that were saved so many days ago. */
async function engineOver(sessions: readonly (Partial<SessionDocument> & { id: string; days?: number })[] = []) {
  const inner = new MemorySessionStore()
  const clock = new VirtualClock(start)
  const store = new FakeSessionStore({ inner, clock })
  for (const { days = 0, ...fields } of sessions) {
    const savedAt = new Date(start - days * day).toISOString()
    await inner.create(documentOf(fields.id, '1-a', { savedAt, ...fields }))
  }
  return { engine: new FlowEngine({ sessionStore: store, clock }), store, inner, clock }
}

const storedIds = async (store: SessionStore): Promise<string[]> =>
  ((await store.list?.({ limit: 1_000 }))?.sessions ?? []).map(({ id }) => id).sort()

describe('listSessions', () => {
  test('returns rows without any text, and the cursor of the next page', async () => {
    const { engine } = await engineOver([{ id: 'a' }, { id: 'b' }, { id: 'c', owner: 'other' }])
    const first = await engine.listSessions({ owner: 'user-7', limit: 1 })
    expect(first.sessions).toEqual([
      {
        id: 'a',
        flowName: 'Booking',
        step: 'Ask',
        runStatus: 'running',
        owner: 'user-7',
        createdAt: '2026-01-01T00:00:00.000Z',
        savedAt: '2026-03-01T00:00:00.000Z',
        turns: 1,
      },
    ])
    const second = await engine.listSessions({ owner: 'user-7', limit: 1, cursor: first.cursor ?? '' })
    expect(second.sessions.map(({ id }) => id)).toEqual(['b'])
    expect(second.cursor).toBeUndefined()
  })

  test('asks the store for 100 unless it says more, and for a time in one form', async () => {
    const { engine, store } = await engineOver()
    await engine.listSessions()
    await engine.listSessions({
      savedBefore: '2026-03-01T01:00:00+01:00',
      runStatus: 'aborted',
      flowName: 'Talk',
      step: 'Ask',
    })
    expect(store.journal.map(({ query }) => query)).toEqual([
      { limit: 100 },
      { limit: 100, savedBefore: '2026-03-01T00:00:00.000Z', runStatus: 'aborted', flowName: 'Talk', step: 'Ask' },
    ])
  })

  test.each<[object | null, string]>([
    [{ limit: 0 }, 'listSessions: limit must be a whole number from 1 to 1000; got 0.'],
    [{ limit: 1_001 }, 'listSessions: limit must be a whole number from 1 to 1000; got 1001.'],
    [{ limit: 1.5 }, 'listSessions: limit must be a whole number from 1 to 1000; got 1.5.'],
    [{ limit: '5' }, "listSessions: limit must be a whole number from 1 to 1000; got the text '5'."],
    [{ limit: Number.POSITIVE_INFINITY }, 'listSessions: limit must be a whole number from 1 to 1000; got Infinity.'],
    [{ owner: undefined }, 'listSessions: name an owner, or leave owner out to list all sessions.'],
    [{ owner: '' }, 'listSessions: owner must be a string that is not empty.'],
    [{ flowName: 5 }, 'listSessions: flowName must be a string that is not empty.'],
    [{ step: '' }, 'listSessions: step must be a string that is not empty.'],
    [{ cursor: '' }, 'listSessions: cursor must be a string that is not empty.'],
    [{ cursor: 'x'.repeat(1_000_001) }, 'listSessions: cursor must have at most 1000000 characters.'],
    [{ runStatus: 'ended' }, 'listSessions: runStatus must be running, completed or aborted.'],
    [{ savedBefore: 'yesterday' }, 'listSessions: savedBefore must be a time in ISO 8601.'],
    [{ savedBefore: 5 }, 'listSessions: savedBefore must be a time in ISO 8601.'],
    [{ owners: 'a' }, "listSessions: there is no option 'owners'."],
    [null, 'listSessions: the options must be an object.'],
  ])('refuses %j before it asks the store', async (query, message) => {
    const { engine, store } = await engineOver()
    await expect(engine.listSessions(query as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(engine.listSessions(query as never)).rejects.toThrow(message)
    expect(store.journal).toEqual([])
  })

  test('refuses a cursor that the store did not make', async () => {
    const { engine } = await engineOver()
    await expect(engine.listSessions({ cursor: 'x' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'The cursor does not belong to this store: pass the cursor of the previous page unchanged.',
    })
  })

  test('says so where the store cannot list, as do the others', async () => {
    const sessionStore = new MemorySessionStore({
      backing: { get: () => undefined, set: () => undefined, delete: () => false },
    })
    const engine = new FlowEngine({ sessionStore })
    const expected = {
      code: 'INVALID_INPUT',
      message: 'The session store cannot list sessions: it has no method list.',
    }
    await expect(engine.listSessions()).rejects.toMatchObject(expected)
    await expect(engine.eraseOwner('a')).rejects.toMatchObject(expected)
    await expect(engine.sweep({ olderThan: 0 })).rejects.toMatchObject(expected)
  })

  test.each([
    undefined,
    {},
    { sessions: [{ id: 5 }] },
    { sessions: [], cursor: '' },
    { sessions: [], unreadable: -1 },
    { sessions: 'none' },
  ])('takes the answer %j for a failure of the store', async (answer) => {
    const { engine, store } = await engineOver()
    store.inject({ operation: 'list', effect: 'answer', answer })
    await expect(engine.listSessions()).rejects.toMatchObject({
      code: 'SESSION_STORE_ERROR',
      operation: 'list',
      message: 'Session store failed to list.',
    })
  })

  test('ends with the deadline of a store operation', async () => {
    const { engine, store, clock } = await engineOver()
    store.hangNext('list')
    const listing = engine.listSessions()
    const failed = expect(listing).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR' })
    await clock.advance(5_000)
    await failed
  })
})

/** Makes the store say on each page that so many sessions cannot be read. */
function countUnreadable(store: SessionStore, unreadable: number): void {
  const list = (store as Required<SessionStore>).list.bind(store)
  const counting: SessionStore['list'] = async (query) => ({ ...(await list(query)), unreadable })
  Object.assign(store, { list: counting })
}

describe('eraseOwner', () => {
  test('removes every session of the owner and no other, and reports each', async () => {
    const { engine, inner } = await engineOver([{ id: 'a' }, { id: 'b', owner: 'other' }, { id: 'c' }])
    const deleted: string[] = []
    engine.on('session:deleted', ({ sessionId }) => void deleted.push(sessionId))
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 2, failed: 0 })
    expect(deleted.sort()).toEqual(['a', 'c'])
    expect(await storedIds(inner)).toEqual(['b'])
  })

  test('lists again until there is none: what was begun meanwhile is removed too', async () => {
    const { engine, inner, store } = await engineOver([{ id: 'a' }])
    let more = 2
    engine.on('session:deleted', () => {
      if (more-- > 0) void inner.create(documentOf(`late-${more}`, '1-a'))
    })
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 3, failed: 0 })
    expect(store.operations.filter((operation) => operation === 'list').length).toBeGreaterThan(1)
    expect(await storedIds(inner)).toEqual([])
  })

  test('gives up on an owner who begins sessions all the time, and counts those that are left', async () => {
    const { engine, inner } = await engineOver([{ id: 'a' }])
    let begun = 0
    engine.on('session:deleted', () => void inner.create(documentOf(`${9999 - ++begun}`, '1-a')))
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 10, failed: 1 })
    expect(await storedIds(inner)).toEqual(['9989'])
  })

  test("waits for the lock of each session, and leaves one alone that is another owner's by then", async () => {
    const { engine, inner } = await engineOver([{ id: 'a' }, { id: 'b' }])
    const held = gate()
    const work = engine.getFlowSession().withSessionLock('a', async () => {
      await held.opened
      const stored = await inner.load('a')
      await inner.save(documentOf('a', '2-b', { owner: 'other' }), stored?.revision ?? '')
    })
    const erasing = engine.eraseOwner('user-7')
    held.open()
    expect(await erasing).toEqual({ deleted: 1, failed: 0 })
    await work
    expect((await inner.load('a'))?.owner).toBe('other')
  })

  test('waits for first turns under way, with a stream, with a key or waiting, and removes their sessions too', async () => {
    const { engine, inner, clock } = await engineOver([{ id: 'a' }])
    const { flow, open } = gatedFlow()
    engine.registerFlow(flow)
    const say = (userMessage: string, more: object = {}) => ({
      flowName: 'Talk',
      userMessage,
      owner: 'user-7',
      ...more,
    })
    const streamed = async (): Promise<void> => {
      for await (const _ of engine.stream(say('c')));
    }
    const turns = [
      engine.execute(say('a')),
      engine.execute(say('b', { idempotencyKey: 'key-of-the-message' })),
      engine.execute(say('b', { idempotencyKey: 'key-of-the-message' })),
      streamed(),
    ]
    const other = engine.execute(say('d', { owner: 'other' }))
    let isErased = false
    const erasing = engine.eraseOwner('user-7').finally(() => {
      isErased = true
    })
    await clock.advance(1)
    open('a')
    open('b')
    await Promise.all(turns.slice(0, 3))
    await clock.advance(1)
    expect(isErased).toBe(false)
    open('c')
    expect(await erasing).toEqual({ deleted: 4, failed: 0 })
    await Promise.all(turns)
    expect(await storedIds(inner)).toEqual([])
    open('d')
    await other
    expect(await storedIds(inner)).toHaveLength(1)
  })

  test('waits no longer for a turn than a turn may take: a runtime may have dropped it', async () => {
    const { inner, store, clock } = await engineOver([{ id: 'a' }])
    const context = createEngineContext({ sessionStore: store, clock }, () => Promise.resolve())
    context.admission.enter({ owner: 'user-7', outcome: never() })
    const erasing = eraseOwner(context, 'user-7')
    await clock.advance(longestTurnMs(context.limits) - 1)
    expect(await storedIds(inner)).toEqual(['a'])
    await clock.advance(longestTurnMs(context.limits) + 1)
    expect(await erasing).toEqual({ deleted: 1, failed: 0 })
  })

  test('tries sessions that another process keeps saving three times, and counts them', async () => {
    const { engine, inner, store } = await engineOver([{ id: 'a' }, { id: 'b' }])
    store.rivalWrites({ before: 'delete', times: Number.POSITIVE_INFINITY, sessionId: 'a' })
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 1, failed: 1 })
    expect(await storedIds(inner)).toEqual(['a'])
  })

  test('removes a session whose lists cannot be read', async () => {
    const { engine, inner, store } = await engineOver([{ id: 'a' }])
    const error = new SessionFlowInvariantError({ sessionId: 'a', problem: 'its list history lacks chunk 0' })
    store.failNext('load', { error })
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 1, failed: 0 })
    expect(await storedIds(inner)).toEqual([])
  })

  test('counts sessions that the store knows and cannot read', async () => {
    const { engine, inner } = await engineOver([{ id: 'a' }])
    countUnreadable(inner, 2)
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 1, failed: 2 })
    expect(await engine.listSessions()).toEqual({ sessions: [], unreadable: 2 })
  })

  test('ends with the first failure of the store', async () => {
    const { engine, store } = await engineOver([{ id: 'a' }])
    store.outage()
    await expect(engine.eraseOwner('user-7')).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR' })
    store.heal()
    store.failNext('load')
    await expect(engine.eraseOwner('user-7')).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'load' })
    expect(await engine.eraseOwner('user-7')).toEqual({ deleted: 1, failed: 0 })
  })

  test('of a closed engine is refused', async () => {
    const { engine, inner } = await engineOver([{ id: 'a' }])
    const closed = engine.getFlowSession().withSessionLock('other', () => engine.eraseOwner('user-7'))
    void engine.close()
    await expect(closed).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
    expect(await inner.load('a').catch(() => 'closed')).toBeDefined()
  })

  test.each<[string, (engine: FlowEngine) => Promise<unknown>]>([
    ['listSessions', (engine) => engine.listSessions()],
    ['eraseOwner', (engine) => engine.eraseOwner('user-7')],
    ['sweep', (engine) => engine.sweep({ olderThan: 0 })],
    ['sweep, as a dry run', (engine) => engine.sweep({ olderThan: 0, dryRun: true })],
  ])('%s says that the engine is closed', async (_name, call) => {
    const { engine } = await engineOver([{ id: 'a', days: 3 }])
    await engine.close()
    await expect(call(engine)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })

  test.each([undefined, '', 5])('refuses the owner %j', async (owner) => {
    const { engine } = await engineOver()
    await expect(engine.eraseOwner(owner as never)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'eraseOwner: owner must be a string that is not empty.',
    })
  })
})

describe('sweep', () => {
  const sessions = [
    { id: 'old', days: 31 },
    { id: 'exact', days: 30 },
    { id: 'new', days: 1 },
    { id: 'ended', days: 40, runStatus: 'completed' as const },
  ]

  test('removes what was saved before that, of whatever owner', async () => {
    const { engine, inner } = await engineOver([...sessions, { id: 'another', days: 50, owner: 'other' }])
    expect(await engine.sweep({ olderThan: 30 * day })).toEqual({ deleted: 3, failed: 0 })
    expect(await storedIds(inner)).toEqual(['exact', 'new'])
  })

  test('counts sessions that the store cannot read', async () => {
    const { engine, inner } = await engineOver(sessions)
    countUnreadable(inner, 2)
    expect(await engine.sweep({ olderThan: 30 * day })).toEqual({ deleted: 2, failed: 2 })
  })

  test('in a dry run reports exactly what it then removes', async () => {
    const { engine, inner, store } = await engineOver(sessions)
    const reported: string[][] = []
    const options = (dryRun: boolean): SweepOptions => {
      const ids: string[] = []
      reported.push(ids)
      return {
        olderThan: 30 * day,
        status: 'completed',
        dryRun,
        onProgress: ({ session }) => void ids.push(session.id),
      }
    }
    expect(await engine.sweep(options(true))).toEqual({ deleted: 1, failed: 0 })
    expect(store.operations).not.toContain('delete')
    expect(await storedIds(inner)).toEqual(['ended', 'exact', 'new', 'old'])
    expect(await engine.sweep(options(false))).toEqual({ deleted: 1, failed: 0 })
    expect(reported).toEqual([['ended'], ['ended']])
    expect(await storedIds(inner)).toEqual(['exact', 'new', 'old'])
  })

  test('counts a session once that a store lists twice', async () => {
    const { engine, inner, store } = await engineOver([{ id: 'old', days: 31 }])
    const rows = (await inner.list?.({ limit: 5 }))?.sessions ?? []
    for (const dryRun of [true, false]) {
      store.inject({ operation: 'list', effect: 'answer', answer: { sessions: [...rows, ...rows], cursor: 'next' } })
      store.inject({ operation: 'list', effect: 'answer', answer: { sessions: rows } })
      expect(await engine.sweep({ olderThan: day, dryRun })).toEqual({ deleted: 1, failed: 0 })
    }
  })

  test('leaves a session alone that a turn has saved since it was listed', async () => {
    const { engine, inner, store } = await engineOver([
      { id: 'old', days: 31 },
      { id: 'older', days: 32 },
    ])
    const row = documentOf('old', '2-b', { savedAt: new Date(start).toISOString() })
    store.inject({ operation: 'load', effect: 'answer', answer: row, sessionId: 'old' })
    expect(await engine.sweep({ olderThan: 30 * day })).toEqual({ deleted: 1, failed: 0 })
    expect(await storedIds(inner)).toEqual(['old'])
  })

  test('waits for what onProgress returns, and ends with what it throws', async () => {
    const { engine, inner } = await engineOver([{ id: 'old', days: 31 }])
    const held = gate()
    let isDone = false
    const sweeping = engine.sweep({ olderThan: day, onProgress: () => held.opened }).then(() => {
      isDone = true
    })
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    expect(isDone).toBe(false)
    held.open()
    await sweeping
    await inner.create(documentOf('again', '1-a', { savedAt: '2026-01-01T00:00:00.000Z' }))
    const stop = (): void => {
      throw new Error('stop')
    }
    await expect(engine.sweep({ olderThan: day, onProgress: stop })).rejects.toThrow('stop')
  })

  test('counts what it could not remove', async () => {
    const { engine, store } = await engineOver([{ id: 'old', days: 31 }])
    store.rivalWrites({ before: 'delete', times: Number.POSITIVE_INFINITY })
    const progress: object[] = []
    const onProgress: SweepOptions['onProgress'] = ({ deleted, failed }) => void progress.push({ deleted, failed })
    expect(await engine.sweep({ olderThan: day, onProgress })).toEqual({ deleted: 0, failed: 1 })
    expect(progress).toEqual([{ deleted: 0, failed: 1 }])
  })

  test.each<[object, string]>([
    [{}, 'sweep: olderThan (milliseconds) must be a number of at least 0; got undefined.'],
    [{ olderThan: -1 }, 'sweep: olderThan (milliseconds) must be a number of at least 0; got -1.'],
    [{ olderThan: 1, status: 'old' }, 'sweep: status must be running, completed or aborted.'],
    [{ olderThan: 1, dryRun: 'yes' }, 'sweep: dryRun must be a boolean.'],
    [{ olderThan: 1, onProgress: 5 }, 'sweep: onProgress must be a function.'],
    [{ olderThan: 1, owner: 'a' }, "sweep: there is no option 'owner'."],
  ])('refuses %j', async (options, message) => {
    const { engine, store } = await engineOver()
    await expect(engine.sweep(options as never)).rejects.toThrow(message)
    expect(store.journal).toEqual([])
  })
})
