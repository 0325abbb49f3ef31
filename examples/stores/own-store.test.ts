/** The store of the page, against the store suite. */
import { readFileSync } from 'node:fs'
import { sessionStoreSuite } from 'turnkeeper/testing/suites'
import { describe, expect, test } from 'vitest'
import { OwnSessionStore, type Row } from './own-store.js'

describe('a store of one screen', () => {
  const rows = new Map<string, Row>()
  sessionStoreSuite(test, () => new OwnSessionStore(rows), {
    corrupt: (sessionId) => void rows.set(sessionId, { revision: '1-cut', json: '{"cut":' }),
  })
})

test('it is the one on the page', () => {
  const page = readFileSync(new URL('../../docs/sessions-and-stores.md', import.meta.url), 'utf8')
  expect(page).toContain(`\`\`\`ts\n${readFileSync(new URL('./own-store.ts', import.meta.url), 'utf8')}\`\`\``)
})
