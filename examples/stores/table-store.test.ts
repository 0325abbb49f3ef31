/** The store of table-store.ts over a table in memory, against the store suite. */
import { sessionStoreSuite } from 'turnkeeper/testing/suites'
import { describe, test } from 'vitest'
import { type SessionTable, TableSessionStore } from './table-store.js'

type Rows = Map<string, { revision: string; json: string }>

/** Each statement happens at once, and its answer comes later, as over a network. */
function tableOver(rows: Rows): SessionTable {
  const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(resolve, value))
  const holds = (id: string, expected?: string): boolean =>
    rows.has(id) && (expected === undefined || rows.get(id)?.revision === expected)
  return {
    read: (id) => later(rows.get(id)),
    insert: (id, revision, json) => later(!rows.has(id) && rows.set(id, { revision, json }) !== undefined),
    swap: (id, expected, revision, json) =>
      later(holds(id, expected) && rows.set(id, { revision, json }) !== undefined),
    remove: (id, expected) => later(holds(id, expected) && rows.delete(id)),
    end: () => later(undefined),
  }
}

const fail = (): Promise<never> => Promise.reject(new Error('The database is down.'))
const tableThatIsDown: SessionTable = { read: fail, insert: fail, swap: fail, remove: fail, end: fail }

describe('the recipe for a store', () => {
  const rows: Rows = new Map()
  sessionStoreSuite(test, () => new TableSessionStore(tableOver(rows)), {
    createUnreachable: () => new TableSessionStore(tableThatIsDown),
    corrupt: (sessionId) => void rows.set(sessionId, { revision: '1-cut', json: '{"cut":' }),
  })
})
