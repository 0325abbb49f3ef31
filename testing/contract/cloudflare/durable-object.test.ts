import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DurableObjectNamespaceLike, DurableObjectSessionStore } from '../../../adapters/durable-object/index.js'
import { longSession, newSession, nextTurn } from '../../suites/stores/documents.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { askObject, namespaceAt } from './bindings.js'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

describeWithMiniflare('sessions in Durable Objects', () => {
  let runtime: Runtime
  let worker: URL
  let namespace: DurableObjectNamespaceLike

  beforeAll(async () => {
    runtime = await startWorkers({
      one: { durableObjects: { SESSIONS: { className: 'TestObject', useSQLite: true } } },
    })
    worker = runtime.urls.one as URL
    namespace = namespaceAt(worker)
  })

  afterAll(() => runtime?.dispose())

  async function query(name: string, statement: string): Promise<Record<string, unknown>[]> {
    return (await (await askObject(worker, name, '/sql', statement)).json()) as Record<string, unknown>[]
  }

  describe('the suite', () => {
    sessionStoreSuite(test, () => new DurableObjectSessionStore({ namespace }), {
      async corrupt(sessionId) {
        await query(sessionId, "UPDATE text SET body = '{\"cut\":' WHERE name = 'head'")
      },
      claims: true,
      absoluteTtl: {
        createStore: (times) => new DurableObjectSessionStore({ namespace, ...times }),
        async expiresAt(sessionId) {
          const [row] = await query(sessionId, 'SELECT expires_at FROM entry')
          return (row?.expires_at as number | null) ?? undefined
        },
      },
      createUnreachable: () => new DurableObjectSessionStore({ namespace: unreachable(namespace) }),
    })
  })
})

/** A namespace whose objects cannot be reached, as in an outage. */
function unreachable(namespace: DurableObjectNamespaceLike): DurableObjectNamespaceLike {
  return {
    idFromName: (name) => namespace.idFromName(name),
    get: () => ({
      async fetch() {
        throw new Error('Network connection lost.')
      },
    }),
  }
}
