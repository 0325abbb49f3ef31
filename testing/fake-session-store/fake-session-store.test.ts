import { describe, expect, test } from 'vitest'
import {
  MemorySessionStore,
  type SessionDocument,
  type SessionStore,
  type UnderReplicatedReport,
} from '../../src/index.js'
import { documentOf } from '../contract/session-bench.js'
import { FakeSessionStore, VirtualClock } from '../index.js'
import type { FakeStoreFault } from './faults.js'
import type { FakeStoreEffect } from './journal.js'

interface Bench {
  readonly store: FakeSessionStore
  readonly inner: MemorySessionStore
  readonly clock: VirtualClock
}

/** A fake over a store that holds the session 'a' under '1-a'. */
async function bench(): Promise<Bench> {
  const clock = new VirtualClock()
  const inner = new MemorySessionStore()
  await inner.create(documentOf('a', '1-a'))
  return { store: new FakeSessionStore({ inner, clock, leases: true }), inner, clock }
}

/** The `claim` of a store that has it. */
function claimOf(store: SessionStore): NonNullable<SessionStore['claim']> {
  return (store as Required<SessionStore>).claim.bind(store)
}

/** The `lease` of a store that has it. */
function leaseOf(store: SessionStore): NonNullable<SessionStore['lease']> {
  return (store as Required<SessionStore>).lease.bind(store)
}

/** Each operation, with the call that makes it, and whether it took effect on the data. */
const operations = [
  {
    operation: 'load',
    call: (store: SessionStore) => store.load('a'),
    tookEffect: async () => undefined,
  },
  {
    operation: 'create',
    call: (store: SessionStore) => store.create(documentOf('b', '1-b')),
    tookEffect: async (inner: SessionStore) => (await inner.load('b')) !== undefined,
  },
  {
    operation: 'save',
    call: (store: SessionStore) => store.save(documentOf('a', '2-b'), '1-a'),
    tookEffect: async (inner: SessionStore) => (await inner.load('a'))?.revision === '2-b',
  },
  {
    operation: 'delete',
    call: (store: SessionStore) => store.delete('a', '1-a'),
    tookEffect: async (inner: SessionStore) => (await inner.load('a')) === undefined,
  },
  {
    operation: 'claim',
    call: (store: SessionStore) => claimOf(store)('k', 'first', 1_000),
    tookEffect: async (inner: SessionStore) => (await claimOf(inner)('k', 'second', 0)) === 'first',
  },
  {
    operation: 'lease',
    call: (store: SessionStore) => leaseOf(store)('a', 1_000, new AbortController().signal),
    async tookEffect(inner: SessionStore) {
      const controller = new AbortController()
      const store = new FakeSessionStore({ inner, clock: new VirtualClock(), leases: true })
      const probe = leaseOf(store)('a', 1, controller.signal)
      const state = await stateOf(probe)
      controller.abort()
      await probe.then(
        (giveBack) => giveBack(),
        () => undefined,
      )
      return state === 'pending'
    },
  },
  {
    operation: 'close',
    call: (store: SessionStore) => store.close(),
    tookEffect: (inner: SessionStore) =>
      inner.load('a').then(
        () => false,
        () => true,
      ),
  },
] as const

/** Whether a promise has settled once all that needs no timer has run. */
async function stateOf(promise: Promise<unknown>): Promise<'pending' | 'done' | 'failed'> {
  let state: 'pending' | 'done' | 'failed' = 'pending'
  promise.then(
    () => {
      state = 'done'
    },
    () => {
      state = 'failed'
    },
  )
  await new VirtualClock().settle()
  return state
}

describe.each(operations)('a fault of $operation', ({ operation, call, tookEffect }) => {
  const effects: [FakeStoreEffect, 'pending' | 'done' | 'failed', boolean][] = [
    ['fail-before', 'failed', false],
    ['fail-after', 'failed', true],
    ['hang-before', 'pending', false],
    ['hang-after', 'pending', true],
    ['latency', 'done', true],
  ]

  test.each(effects)('%s: the call is %s, its effect is there: %s', async (effect, state, effective) => {
    const { store, inner } = await bench()
    store.inject({ operation, effect })
    const promise = call(store)
    expect(await stateOf(promise)).toBe(state)
    expect(store.journal.at(-1)?.outcome).toBe(state)
    if (operation !== 'load') expect(await tookEffect(inner)).toBe(effective)
    if (state !== 'failed') return
    const when = effect === 'fail-before' ? 'before it takes effect' : 'after it took effect'
    await expect(promise).rejects.toThrow(`Injected: ${operation} fails ${when}.`)
  })

  test.each(effects)('%s comes after its latency: then the call is %s', async (effect, state, effective) => {
    const { store, inner, clock } = await bench()
    store.inject({ operation, effect, latencyMs: 100 })
    const promise = call(store)
    // Watched from the start: nobody else handles its failure.
    const settled = stateOf(promise)
    await clock.advance(99)
    expect(await settled).toBe('pending')
    if (operation !== 'load') expect(await tookEffect(inner)).toBe(false)
    await clock.advance(1)
    expect(await stateOf(promise)).toBe(state)
    if (operation !== 'load') expect(await tookEffect(inner)).toBe(effective)
  })

  test('strikes the next call, and that alone', async () => {
    const { store } = await bench()
    store.inject({ operation, effect: 'fail-before' })
    await expect(call(store)).rejects.toThrow()
    await expect(call(store)).resolves.not.toThrow()
    expect(store.journal.map(({ outcome }) => outcome)).toEqual(['failed', 'done'])
  })

  test('throws what it was given', async () => {
    const { store } = await bench()
    store.inject({ operation, effect: 'fail-before', error: 'a text' })
    await expect(call(store)).rejects.toBe('a text')
  })
})

describe('FakeSessionStore', () => {
  const load = (store: FakeSessionStore, id = 'a'): Promise<string> =>
    store.load(id).then(
      () => 'done',
      (error: Error) => error.message,
    )

  async function loads(store: FakeSessionStore, count: number): Promise<string[]> {
    const outcomes: string[] = []
    for (let index = 0; index < count; index++) outcomes.push(await load(store))
    return outcomes
  }

  const failing = (name: string, more: Partial<FakeStoreFault> = {}): FakeStoreFault => ({
    operation: 'load',
    effect: 'fail-before',
    error: new Error(name),
    ...more,
  })

  test('without faults is the store underneath', async () => {
    const { store, inner } = await bench()
    expect(store.guarantees).toBe(inner.guarantees)
    expect(await store.load('a')).toEqual(documentOf('a', '1-a'))
    await store.save(documentOf('a', '2-b'), '1-a')
    await store.create(documentOf('b', '1-b'))
    await store.delete('b')
    expect(await inner.load('a')).toEqual(documentOf('a', '2-b'))
    expect(await inner.load('b')).toBeUndefined()
  })

  test('makes a memory store if it is given no store', async () => {
    const store = new FakeSessionStore()
    await store.create(documentOf('a', '1-a'))
    expect((await store.load('a'))?.revision).toBe('1-a')
    expect(await new FakeSessionStore().load('a')).toBeUndefined()
  })

  test('passes the hint on', async () => {
    const hints: unknown[] = []
    const inner = Object.assign(new MemorySessionStore(), {
      save: async (_document: SessionDocument, _expected: string, hint: unknown) => void hints.push(hint),
    })
    await new FakeSessionStore({ inner }).save(documentOf('a', '2-b'), '1-a', { appended: { history: 1 } })
    expect(hints).toEqual([{ appended: { history: 1 } }])
  })

  test('keeps a journal of every call and how it ended', async () => {
    const { store } = await bench()
    await store.load('a')
    await store.save(documentOf('a', '2-b'), '1-a')
    await store.create(documentOf('a', '1-x')).catch(() => undefined)
    await store.delete('a', '2-b')
    await store.delete('a')
    await store.close()
    expect(store.journal).toEqual([
      { operation: 'load', sessionId: 'a', outcome: 'done' },
      { operation: 'save', sessionId: 'a', revision: '2-b', expectedRevision: '1-a', outcome: 'done' },
      { operation: 'create', sessionId: 'a', revision: '1-x', outcome: 'failed' },
      { operation: 'delete', sessionId: 'a', expectedRevision: '2-b', outcome: 'done' },
      { operation: 'delete', sessionId: 'a', outcome: 'done' },
      { operation: 'close', sessionId: '', outcome: 'done' },
    ])
    expect(store.operations).toEqual(['load', 'save', 'create', 'delete', 'delete', 'close'])
  })

  test('the journal has a call from its beginning', async () => {
    const { store } = await bench()
    const loading = store.load('a')
    expect(store.journal).toEqual([{ operation: 'load', sessionId: 'a', outcome: 'pending' }])
    await loading
  })

  test('strikes the nth call, counted from the injection', async () => {
    const { store } = await bench()
    await load(store)
    store.inject(failing('third', { nth: 3 }))
    expect(await loads(store, 4)).toEqual(['done', 'done', 'third', 'done'])
  })

  test('applies a fault as often as asked', async () => {
    const { store } = await bench()
    store.inject(failing('twice', { nth: 2, times: 2 }))
    expect(await loads(store, 4)).toEqual(['done', 'twice', 'twice', 'done'])
  })

  test('strikes until it is healed', async () => {
    const { store } = await bench()
    store.inject(failing('always', { times: Number.POSITIVE_INFINITY }))
    expect(await loads(store, 3)).toEqual(['always', 'always', 'always'])
    store.heal()
    expect(await loads(store, 2)).toEqual(['done', 'done'])
  })

  test('healing takes back a fault that has not struck', async () => {
    const { store } = await bench()
    store.inject(failing('later', { nth: 2 }))
    store.heal()
    expect(await loads(store, 3)).toEqual(['done', 'done', 'done'])
  })

  test('faults of one operation strike in the order they were injected', async () => {
    const { store } = await bench()
    store.inject(failing('one'))
    store.inject(failing('two'))
    expect(await loads(store, 3)).toEqual(['one', 'two', 'done'])
  })

  test('a fault counts the calls that another one struck', async () => {
    const { store } = await bench()
    store.inject(failing('first', { nth: 1 }))
    store.inject(failing('second', { nth: 2 }))
    expect(await loads(store, 3)).toEqual(['first', 'second', 'done'])
  })

  test('strikes one operation and leaves the others alone', async () => {
    const { store } = await bench()
    store.inject({ operation: 'save', effect: 'fail-before' })
    expect(await loads(store, 2)).toEqual(['done', 'done'])
    await expect(store.save(documentOf('a', '2-b'), '1-a')).rejects.toThrow(
      'Injected: save fails before it takes effect.',
    )
  })

  test('strikes one session and does not count the others', async () => {
    const { store } = await bench()
    store.inject(failing('only b', { sessionId: 'b', nth: 2 }))
    expect([await load(store, 'b'), await load(store), await load(store), await load(store, 'b')]).toEqual([
      'done',
      'done',
      'done',
      'only b',
    ])
  })

  test('holds sessions and reports evictions as the store underneath does', async () => {
    const inner = new MemorySessionStore({ maxSessions: 1 })
    const store = new FakeSessionStore({ inner })
    const evicted: string[] = []
    const stop = store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await store.create(documentOf('b', '1-b'))
    expect(evicted).toEqual([])
    release()
    expect(evicted).toEqual(['b'])
    stop()
    await store.create(documentOf('c', '1-c'))
    expect(evicted).toEqual(['b'])
    expect(store.operations).toEqual(['create', 'create', 'create'])
  })

  test('reports commits on too few replicas as the store underneath does', async () => {
    const listeners = new Set<(report: UnderReplicatedReport) => void>()
    const inner = Object.assign(new MemorySessionStore(), {
      onUnderReplicated(listener: (report: UnderReplicatedReport) => void) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    })
    const told: UnderReplicatedReport[] = []
    const stop = new FakeSessionStore({ inner }).onUnderReplicated((report) => told.push(report))
    const report = { sessionId: 'a', replicas: 0, wanted: 1 }
    for (const listener of listeners) listener(report)
    expect(told).toEqual([report])
    stop()
    expect(listeners.size).toBe(0)
  })

  test('over a store that never evicts or replicates, they do nothing', () => {
    const { guarantees, load: loadInner, create, save, delete: remove, close } = new FakeSessionStore()
    const store = new FakeSessionStore({ inner: { guarantees, load: loadInner, create, save, delete: remove, close } })
    expect(store.hold('a')()).toBeUndefined()
    expect(store.onEvicted(() => undefined)()).toBeUndefined()
    expect(store.onUnderReplicated(() => undefined)()).toBeUndefined()
  })
})

describe('a fault that could never strike is refused', () => {
  const misspelt = { time: 3 } as object
  test.each<[string, (store: FakeSessionStore) => void]>([
    ["failNext: there is no option 'time'.", (store) => store.failNext('save', misspelt)],
    ["hangNext: there is no option 'atOnce'.", (store) => store.hangNext('save', { atOnce: true } as object)],
    ["delayNext: there is no option 'time'.", (store) => store.delayNext('save', 5, misspelt)],
    [
      'delayNext: ms must be a number of at least 0, or Infinity for no bound; got undefined.',
      (store) => store.delayNext('save', undefined as never),
    ],
    [
      "hangNext: latencyMs must be a number of at least 0, or Infinity for no bound; got the text '5s'.",
      (store) => store.hangNext('save', { latencyMs: '5s' as never }),
    ],
    ["rivalWrites: there is no option 'time'.", (store) => store.rivalWrites(misspelt)],
    ["rivalDeletes: there is no option 'change'.", (store) => store.rivalDeletes({ change: 1 } as object)],
    ["staleRead: there is no option 'time'.", (store) => store.staleRead(misspelt)],
    ["answerNext: there is no option 'time'.", (store) => store.answerNext(null, misspelt)],
    ["outage: there is no option 'time'.", (store) => store.outage(misspelt)],
    ["inject: there is no option 'time'.", (store) => store.inject({ effect: 'throw', ...misspelt })],
    [
      'failNext: a store has no operation "write". Its operations: load, create, save, delete, claim, isDeleted, lease, list, close.',
      (store) => store.failNext('write' as never),
    ],
    ['failNext: nth must be a whole number of at least 1; got 0.', (store) => store.failNext('save', { nth: 0 })],
    ['failNext: times must be a whole number of at least 1', (store) => store.failNext('save', { times: 0.5 })],
  ])('%s', (text, prepare) => {
    expect(() => prepare(new FakeSessionStore())).toThrow(text)
  })

  test('and one with all of its options is not', () => {
    const store = new FakeSessionStore()
    const match = { nth: 1, times: Number.POSITIVE_INFINITY, sessionId: 'a', when: () => true }
    store.failNext('save', { after: true, latencyMs: 5, atOnce: false, error: 1, ...match })
    store.rivalWrites({ before: 'delete', change: (stored) => stored, ...match })
    store.outage({ hang: true, error: 1, sessionId: 'a', when: () => true })
    expect(() => store.assertFaultsUsed()).toThrow('save fails after it took effect, until healed')
  })
})
