import { Keyv } from 'keyv'
import { describe, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { encryptionHooks } from '../../../testing/contract/stores/keyv-hooks.js'
import { PlainAdapter } from '../../../testing/contract/stores/plain-adapter.js'
import { sessionStoreSuite } from '../../../testing/suites/stores/session-store-suite.js'
import { KeyvSessionStore } from './keyv-session-store.js'

describe("over Keyv's Map", () => {
  const map = new Map()
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv({ store: map, namespace: 'talks' }) }), {
    corrupt: (sessionId) => void Object.assign(map.get(`talks:${sessionId}`), { head: '{"cut":' }),
    claims: true,
  })
})

describe('over a driver of the application, with texts that are encrypted', () => {
  const driver = new FakeDriver()
  const hooks = encryptionHooks()
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv(hooks), driver }), {
    corrupt: (sessionId) =>
      void Object.assign(driver.records.get(`keyv:${sessionId}`) as object, { head: 'no base64' }),
    claims: true,
  })
})

describe('over an adapter without a compare-and-swap, in one process', () => {
  const adapter = new PlainAdapter()
  sessionStoreSuite(test, () => new KeyvSessionStore({ keyv: new Keyv(adapter), consistency: 'process' }), {
    claims: true,
  })
})
