/** The store to copy, against the store suite. */
import { sessionStoreSuite } from 'turnkeeper/testing/suites'
import { describe, test } from 'vitest'
import { OwnSessionStore, type Row } from './own-store.js'

describe('a store of one screen', () => {
  const rows = new Map<string, Row>()
  sessionStoreSuite(test, () => new OwnSessionStore(rows), {
    corrupt: (sessionId) => void rows.set(sessionId, { revision: '1-cut', json: '{"cut":' }),
  })
})
