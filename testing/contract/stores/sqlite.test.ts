/** Decides that the SQLite driver does what every driver and every store must do, on a real file. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Keyv } from 'keyv'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FlowEngine } from '../../../src/index.js'
import type { SqlAdapter, SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { createSqliteKeyv, type SqliteKeyvOptions } from '../../../src/stores/keyv/drivers/sqlite/create-sqlite-keyv.js'
import { createSqliteDriver } from '../../../src/stores/keyv/drivers/sqlite/sqlite-driver.js'
import { KeyvSessionStore } from '../../../src/stores/keyv/keyv-session-store.js'
import { newSession } from '../../suites/stores/bench/documents.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { driverCases, swapOf } from './driver-cases.js'
import { driverTextCases } from './driver-text-cases.js'
import { goldenCases } from './golden/golden-cases.js'
import { checkRandomCuts } from './random-cuts.js'
import { sqlCases } from './sql-cases.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

let folder: string
const drivers: SqlSessionDriver[] = []

async function openDriver(
  path: string,
  options: SqliteKeyvOptions = {},
): Promise<{ driver: SqlSessionDriver; keyv: Keyv }> {
  const keyv = await createSqliteKeyv(path, options)
  const driver = createSqliteDriver(keyv.store as SqlAdapter)
  drivers.push(driver)
  return { driver, keyv }
}

/** One statement over a connection of its own, past the driver. */
async function past(path: string, statement: string): Promise<Record<string, unknown>[]> {
  const keyv = await createSqliteKeyv(path)
  try {
    return (await (keyv.store as SqlAdapter).query(statement)) as Record<string, unknown>[]
  } finally {
    await keyv.disconnect()
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnkeeper-sqlite-'))
})
afterAll(async () => {
  for (const driver of drivers) await driver.close()
  await rm(folder, { recursive: true, force: true })
})

describe.skipIf(isSqliteMissing)('SQLite (needs npm ci --prefix testing/contract/sqlite)', () => {
  describe('the driver', () => {
    let one: SqlSessionDriver
    let two: SqlSessionDriver
    beforeAll(async () => {
      one = (await openDriver(join(folder, 'cases.sqlite'))).driver
      two = (await openDriver(join(folder, 'cases.sqlite'))).driver
    })
    test('knows of a session that nobody can read whose it is: erasing its owner counts it', async () => {
      const path = join(folder, 'unreadable.sqlite')
      const store = new KeyvSessionStore({ keyv: await createSqliteKeyv(path) })
      for (const id of ['a', 'b']) await store.create({ ...newSession(id), owner: 'ada' })
      await past(path, "UPDATE turnkeeper_session SET head = 'cut off' WHERE key LIKE '%a'")
      const engine = new FlowEngine({ sessionStore: store })
      expect(await engine.eraseOwner('ada')).toEqual({ deleted: 1, failed: 1 })
      expect(await engine.eraseOwner('bob')).toEqual({ deleted: 0, failed: 0 })
      await engine.close()
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
    const open = async (path: string): Promise<KeyvSessionStore> =>
      new KeyvSessionStore({ keyv: await createSqliteKeyv(path, { busyTimeoutMs: 30_000, lease: leases }) })
    sessionStoreSuite(test, () => open(join(folder, 'suite.sqlite')), {
      claims: true,
      leases,
      lists: true,
      corrupt: async (sessionId) => {
        const statement = `UPDATE turnkeeper_session SET head = '{"cut":' WHERE key = 'turnkeeper:${sessionId}'`
        await past(join(folder, 'suite.sqlite'), statement)
      },
      createUnreachable: () => open(join(folder, 'no-such-folder', 'suite.sqlite')),
      absoluteTtl: {
        createStore: async ({ absoluteTtlMs, ...times }) => {
          const keyv = await createSqliteKeyv(join(folder, 'aging.sqlite'), times)
          return new KeyvSessionStore({ keyv, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
        },
        expiresAt: async (sessionId) => {
          const statement = `SELECT expires_at FROM turnkeeper_session WHERE key = 'turnkeeper:${sessionId}'`
          const [row] = await past(join(folder, 'aging.sqlite'), statement)
          return row?.expires_at as number | undefined
        },
      },
    })

    test('gives two processes the right entries, whatever they cut and append in turn', async () => {
      const stores = [await open(join(folder, 'cuts.sqlite')), await open(join(folder, 'cuts.sqlite'))]
      await checkRandomCuts(stores, { runs: 20 })
      for (const store of stores) await store.close()
    })
  })

  sqlCases({
    kind: 'sqlite',
    open: async (table) => (await openDriver(join(folder, 'shared.sqlite'), { table, busyTimeoutMs: 30_000 })).driver,
    place: () => join(folder, 'shared.sqlite'),
    countRows: async (table) => {
      const [row] = await past(join(folder, 'shared.sqlite'), `SELECT count(*) AS count FROM ${table}`)
      return Number(row?.count)
    },
  })

  test('works with an adapter as an application makes it, also one whose table has an odd name', async () => {
    const { default: KeyvSqlite } = loadSqlitePackage()
    const options = { uri: `sqlite://${join(folder, 'plain.sqlite')}`, table: '1 odd "table"', busyTimeout: 5_000 }
    const [one, two] = [0, 1].map(() => createSqliteDriver(new KeyvSqlite(options) as SqlAdapter))
    if (one === undefined || two === undefined) throw new Error('No drivers.')
    drivers.push(one, two)
    expect(await one.swap(swapOf('key', { chunks: [['a', '1']] }))).toBe('done')
    expect(await two.readAll('key')).toEqual({ revision: 'r1', head: '{}', chunks: new Map([['a', '1']]) })
    expect(await past(join(folder, 'plain.sqlite'), 'SELECT key FROM _1oddtable_session')).toEqual([{ key: 'key' }])
  })

  test('uses a write-ahead log, and commits as the options say', async () => {
    for (const [synchronous, level] of [
      ['full', 2],
      ['normal', 1],
    ] as const) {
      const { driver, keyv } = await openDriver(join(folder, `${synchronous}.sqlite`), { synchronous })
      await driver.swap(swapOf('key', {}))
      const adapter = keyv.store as SqlAdapter
      expect(await adapter.query('PRAGMA journal_mode')).toEqual([{ journal_mode: 'wal' }])
      expect(await adapter.query('PRAGMA synchronous')).toEqual([{ synchronous: level }])
    }
  })

  test('guarantees that a file is durable, and not that memory is', async () => {
    const promises = { compareAndSwap: 'backend', durable: true }
    expect((await openDriver(join(folder, 'promises.sqlite'))).driver.guarantees).toEqual(promises)
    expect((await openDriver(':memory:')).driver.guarantees).toEqual({ ...promises, durable: false })
  })
})
