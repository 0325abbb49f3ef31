/** Decides that the Postgres driver does what every driver and every store must do, on a real server. */
import KeyvPostgres from '@keyv/postgres'
import type { Keyv } from 'keyv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createPostgresKeyv,
  type PostgresKeyvOptions,
} from '../../../src/stores/keyv/drivers/postgres/create-postgres-keyv.js'
import { createPostgresDriver } from '../../../src/stores/keyv/drivers/postgres/postgres-driver.js'
import type { SqlAdapter, SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { KeyvSessionStore } from '../../../src/stores/keyv/keyv-session-store.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { isPostgresMissing, type PostgresServer, startPostgres } from '../servers/postgres-server.js'
import { freePort } from '../servers/redis-server.js'
import { driverCases, swapOf } from './driver-cases.js'
import { driverTextCases } from './driver-text-cases.js'
import { goldenCases } from './golden/golden-cases.js'
import { checkRandomCuts } from './random-cuts.js'
import { sqlCases } from './sql-cases.js'

let server: PostgresServer

async function openDriver(
  url: string,
  options: PostgresKeyvOptions = {},
): Promise<{ driver: SqlSessionDriver; keyv: Keyv }> {
  const keyv = await createPostgresKeyv(url, { maxConnections: 3, ...options })
  return { driver: createPostgresDriver(keyv.store as SqlAdapter), keyv }
}

/** One statement over a connection of its own, past the driver. */
async function past(statement: string): Promise<Record<string, unknown>[]> {
  const keyv = await createPostgresKeyv(server.url, { maxConnections: 1 })
  try {
    return (await (keyv.store as SqlAdapter).query(statement)) as Record<string, unknown>[]
  } finally {
    await keyv.disconnect()
  }
}

describe.skipIf(isPostgresMissing)('Postgres', () => {
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.close())

  describe('the driver', () => {
    let one: SqlSessionDriver
    let two: SqlSessionDriver
    beforeAll(async () => {
      one = (await openDriver(server.url)).driver
      two = (await openDriver(server.url)).driver
    })
    afterAll(async () => {
      await one?.close()
      await two?.close()
    })
    for (const register of [driverCases, driverTextCases]) {
      register(
        () => one,
        () => two,
      )
    }
    goldenCases(() => one)
  })

  describe('the store', () => {
    const leases = { ttlMs: 300 }
    const open = async (url: string): Promise<KeyvSessionStore> =>
      new KeyvSessionStore({
        keyv: await createPostgresKeyv(url, { maxConnections: 3, connectTimeoutMs: 300, lease: leases }),
      })
    sessionStoreSuite(test, () => open(server.url), {
      claims: true,
      leases,
      lists: true,
      corrupt: async (sessionId) => {
        const statement = `UPDATE turnkeeper_session SET head = '{"cut":' WHERE key = 'turnkeeper:${sessionId}'`
        await past(statement)
      },
      createUnreachable: async () => open(`postgres://postgres@127.0.0.1:${await freePort()}/postgres`),
      absoluteTtl: {
        createStore: async ({ absoluteTtlMs, ...times }) => {
          const keyv = await createPostgresKeyv(server.url, { maxConnections: 3, ...times })
          return new KeyvSessionStore({ keyv, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
        },
        expiresAt: async (sessionId) => {
          const [row] = await past(`SELECT round(extract(epoch FROM expires_at) * 1000)::float8 AS at
            FROM turnkeeper_session WHERE key = 'turnkeeper:${sessionId}'`)
          return row?.at as number | undefined
        },
      },
    })

    test('gives two processes the right entries, whatever they cut and append in turn', async () => {
      const stores = [await open(server.url), await open(server.url)]
      await checkRandomCuts(stores, { runs: 30 })
      for (const store of stores) await store.close()
    })
  })

  sqlCases({
    kind: 'postgres',
    open: async (table) => (await openDriver(server.url, { table })).driver,
    place: () => server.url,
    countRows: async (table) => {
      const [row] = await past(`SELECT count(*) AS count FROM ${table}`)
      return Number(row?.count)
    },
  })

  test('works with an adapter as an application makes it, in a schema of its own', async () => {
    const adapter = new KeyvPostgres({ uri: server.url, schema: 'Talks', table: 'Sessions' })
    const driver = createPostgresDriver(adapter as SqlAdapter)
    try {
      expect(await driver.swap(swapOf('key', { chunks: [['a', '1']] }))).toBe('done')
      expect(await driver.readAll('key')).toEqual({ revision: 'r1', head: '{}', chunks: new Map([['a', '1']]) })
      expect(await past('SELECT key FROM talks.sessions_session')).toEqual([{ key: 'key' }])
    } finally {
      await driver.close()
    }
  })

  test('makes a schema that the adapter could not make', async () => {
    const { driver, keyv } = await openDriver(server.url, { schema: 'late', table: 'talk' })
    try {
      await driver.read('key', [])
      await past('DROP SCHEMA late CASCADE')
      const again = createPostgresDriver(keyv.store as SqlAdapter)
      expect(await again.swap(swapOf('key', {}))).toBe('done')
    } finally {
      await driver.close()
    }
  })

  test('promises a swap in the backend that outlives the process', async () => {
    const { driver } = await openDriver(server.url)
    expect(driver.guarantees).toEqual({ compareAndSwap: 'backend', durable: true })
    await driver.close()
  })
})
