// Stores that are right pass every case.
import { describe, test } from 'vitest'
import { MemorySessionStore, type SessionStore } from '../../../../src/index.js'
import { optionsFor, TextStore } from '../../../contract/text-store.js'
import { FakeSessionStore } from '../../../fake-session-store/fake-session-store.js'
import { VirtualClock } from '../../../virtual-clock/virtual-clock.js'
import { sessionStoreSuite } from '../session-store-suite.js'

describe('MemorySessionStore', () => {
  let clock = new VirtualClock()
  sessionStoreSuite(test, () => new MemorySessionStore(), {
    reopen: (store) => new MemorySessionStore({ backing: (store as MemorySessionStore).backing }),
    claims: true,
    absoluteTtl: {
      createStore(times) {
        clock = new VirtualClock()
        return new MemorySessionStore({ ...times, clock })
      },
      advance: (ms) => clock.advance(ms),
    },
    lists: true,
  })
})

describe('FakeSessionStore', () => {
  const inner = new WeakMap<SessionStore, MemorySessionStore>()
  const fakeOver = (memory: MemorySessionStore): FakeSessionStore => {
    const store = new FakeSessionStore({ inner: memory, leases: true })
    inner.set(store, memory)
    return store
  }
  sessionStoreSuite(test, () => fakeOver(new MemorySessionStore()), {
    reopen: (store) => fakeOver(new MemorySessionStore({ backing: (inner.get(store) as MemorySessionStore).backing })),
    createUnreachable() {
      const store = new FakeSessionStore()
      for (const operation of ['load', 'create', 'save', 'delete', 'claim', 'isDeleted', 'list'] as const) {
        store.inject({ operation, effect: 'fail-before', times: Number.POSITIVE_INFINITY })
      }
      return store
    },
    claims: true,
    lists: true,
    leases: { ttlMs: 100 },
    leaveOut: { 'lease: a live holder keeps its lease renewed': 'A test renews nothing: it moves the clock.' },
  })
})

describe('a store of texts, which the other tests in this folder break', () => {
  sessionStoreSuite(test, () => new TextStore(new Map()), optionsFor(TextStore))
})
