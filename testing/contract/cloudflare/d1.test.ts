import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type D1DatabaseLike, D1SessionStore } from '../../../adapters/d1/index.js'
import { longSession, newSession, nextTurn } from '../../suites/stores/documents.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { databaseAt, queryAt } from './bindings.js'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

describeWithMiniflare('sessions in D1', () => {
  let runtime: Runtime
  let worker: URL
  let database: D1DatabaseLike

  beforeAll(async () => {
    runtime = await startWorkers({ one: { d1Databases: ['DB'] } })
    worker = runtime.urls.one as URL
    database = databaseAt(worker)
  })

  afterAll(() => runtime?.dispose())

  describe('the suite', () => {
    sessionStoreSuite(test, () => new D1SessionStore({ database }), {
      async corrupt(sessionId) {
        await queryAt(worker, 'UPDATE turnkeeper_session SET head = \'{"cut":\' WHERE key = ?1', sessionId)
      },
      claims: true,
      lists: true,
      absoluteTtl: {
        createStore: (times) => new D1SessionStore({ database, ...times }),
        async expiresAt(sessionId) {
          const [row] = await queryAt(worker, 'SELECT expires_at FROM turnkeeper_session WHERE key = ?1', sessionId)
          return (row?.expires_at as number | null) ?? undefined
        },
      },
      createUnreachable: () => new D1SessionStore({ database: unreachable(database) }),
    })
  })
})

/** A database whose requests fail, as they do in an outage. */
function unreachable(database: D1DatabaseLike): D1DatabaseLike {
  return {
    prepare: (statement) => database.prepare(statement),
    batch: async () => {
      throw new Error('D1_ERROR: Network connection lost.')
    },
  }
}
