// The store over three kinds of Keyv. Each case gets an empty backend, because a listing reads everything in it.
import { Keyv } from 'keyv'
import { afterEach, beforeEach, describe, test, vi } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { encryptionHooks } from '../../../testing/contract/stores/keyv-hooks.js'
import { IterableAdapter } from '../../../testing/contract/stores/plain-adapter.js'
import { type SessionStoreSuiteOptions, sessionStoreSuite } from '../../../testing/suites/stores/session-store-suite.js'
import { KeyvSessionStore, type KeyvSessionStoreOptions } from './keyv-session-store.js'

afterEach(() => {
  vi.useRealTimers()
})

/** Stores over a Keyv whose sessions expire by a clock that the test moves. */
function endingOver(
  make: (ttl: { readonly ttl?: number }) => KeyvSessionStoreOptions,
): Pick<SessionStoreSuiteOptions, 'absoluteTtl'> {
  return {
    absoluteTtl: {
      createStore({ absoluteTtlMs, ttlMs }) {
        vi.useFakeTimers({ toFake: ['Date', 'performance'] })
        const options = make(ttlMs === undefined ? {} : { ttl: ttlMs })
        return new KeyvSessionStore({ ...options, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
      },
      advance: (ms) => void vi.advanceTimersByTime(ms),
    },
  }
}

describe("over Keyv's Map", () => {
  const map = new Map()
  beforeEach(() => map.clear())
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv({ store: map, namespace: 'talks' }) }), {
    corrupt: (sessionId) => void Object.assign(map.get(`talks:${sessionId}`), { head: '{"cut":' }),
    claims: true,
    ...endingOver((ttl) => ({ keyv: new Keyv({ store: new Map(), ...ttl }) })),
    lists: true,
  })
})

describe("over the application's driver, with encrypted texts", () => {
  const driver = new FakeDriver()
  beforeEach(() => driver.records.clear())
  const hooks = encryptionHooks()
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv(hooks), driver }), {
    corrupt: (sessionId) =>
      void Object.assign(driver.records.get(`keyv:${sessionId}`) as object, { head: 'no base64' }),
    claims: true,
    lists: true,
  })
})

describe('over an adapter without a compare-and-swap, in one process', () => {
  const adapter = new IterableAdapter()
  beforeEach(() => adapter.values.clear())
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv(adapter), consistency: 'process' }), {
    claims: true,
    ...endingOver((ttl) => ({ keyv: new Keyv(new IterableAdapter(), ttl), consistency: 'process' })),
    lists: true,
  })
})
