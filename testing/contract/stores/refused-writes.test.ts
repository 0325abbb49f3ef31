/**
 * Decides what becomes of turns and deletes while a database refuses writes: because it is out of memory, because it
 * may only be read, or because its disk is full.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FlowEngine, type SessionDocument, type SessionSaveHint, type SessionStore } from '../../../src/index.js'
import { createPostgresDriver } from '../../../src/stores/keyv/drivers/postgres/postgres-driver.js'
import { createRedisDriver } from '../../../src/stores/keyv/drivers/redis/redis-driver.js'
import type { SqlAdapter } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { createSqliteDriver } from '../../../src/stores/keyv/drivers/sqlite/sqlite-driver.js'
import {
  createPostgresKeyv,
  createRedisKeyv,
  createSqliteKeyv,
  KeyvSessionStore,
} from '../../../src/stores/keyv/index.js'
import { flowOf } from '../engine-harness.js'
import { isPostgresMissing, type PostgresServer, startPostgres } from '../servers/postgres-server.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { isSmallDiskMissing, mountSmallDisk, type SmallDisk } from '../servers/small-disk.js'
import { until } from '../servers/until.js'
import { type RefusingDatabase, refusedWriteCases } from './refused-write-cases.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const allFail = { create: 'fails', append: 'fails', replace: 'fails', abort: 'fails', delete: 'fails' } as const

/** If pages are not quite full, a long turn does not fit, but the mark of an aborted session may. */
const mayAbort = {
  create: 'may abort',
  append: 'may abort',
  replace: 'may abort',
  abort: 'may abort',
  delete: 'succeeds',
} as const

describe.skipIf(isRedisMissing)('Redis', () => {
  let server: RedisServer
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    if (!isSmallDiskMissing) disk = mountSmallDisk()
    server = await startRedis({
      appendOnly: 'everysec',
      settings: { 'maxmemory-policy': 'noeviction', ...(disk === undefined ? {} : { dir: disk.path }) },
    })
  })
  afterAll(async () => {
    await server?.close()
    disk?.close()
  })

  async function openStore(cacheBytes?: number): Promise<KeyvSessionStore> {
    const keyv = await createRedisKeyv(server.url)
    return new KeyvSessionStore({ keyv, ...(cacheBytes === undefined ? {} : { cacheBytes }) })
  }

  function database(trouble: Pick<RefusingDatabase, 'refuseWrites' | 'takeWrites'>): RefusingDatabase {
    return {
      openStore,
      async stored(sessionId) {
        const driver = createRedisDriver(await createRedisKeyv(server.url))
        try {
          return await driver.readAll(`turnkeeper::${sessionId}`)
        } finally {
          await driver.close()
        }
      },
      countSessions: async () => Number((await server.command('DBSIZE')).slice(1)),
      ...trouble,
    }
  }

  const outOfMemory = {
    refuseWrites: async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '1')),
    takeWrites: async () => void (await server.command('CONFIG', 'SET', 'maxmemory', '0')),
  }

  describe('out of memory', () => {
    refusedWriteCases(database(outOfMemory), { ...allFail, delete: 'succeeds' })
  })

  describe('a replica', () => {
    const replica = {
      refuseWrites: async () => void (await server.command('REPLICAOF', '127.0.0.1', '1')),
      takeWrites: async () => void (await server.command('REPLICAOF', 'NO', 'ONE')),
    }
    refusedWriteCases(database(replica), allFail)
  })

  describe.skipIf(isSmallDiskMissing)('with a full disk (needs root, and the right to mount a tmpfs)', () => {
    const isTaken = async (): Promise<boolean> => (await server.command('SET', 'probe', '1')).startsWith('+OK')
    const fullDisk = {
      // Redis finds out when it has accepted a write that it cannot append to its file.
      refuseWrites: async () => {
        await disk?.fill()
        await until(async () => !(await isTaken()))
      },
      takeWrites: async () => {
        await disk?.free()
        await until(isTaken)
      },
    }
    beforeAll(isTaken)
    refusedWriteCases(database(fullDisk), allFail)
  })

  test('a memory limit of the server holds, however many sessions begin', async () => {
    const engine = new FlowEngine({ flows: [flowOf('Talk')], sessionStore: await openStore() })
    const used = /used_memory:(\d+)/.exec(await server.command('INFO', 'memory'))?.[1]
    await server.command('CONFIG', 'SET', 'maxmemory', String(Number(used) + 50_000))
    try {
      const userMessage = 'x'.repeat(2_000)
      const codes = []
      for (let count = 0; count < 300; count++) {
        codes.push((await engine.execute({ flowName: 'Talk', userMessage })).error?.code)
      }
      expect(new Set(codes)).toEqual(new Set([undefined, 'SESSION_STORE_ERROR']))
      expect(codes.at(-1)).toBe('SESSION_STORE_ERROR')
      expect(codes.filter((code) => code === undefined).length).toBeLessThan(30)
    } finally {
      await outOfMemory.takeWrites()
      await engine.close()
    }
  })

  test('a save that took effect late, and is repeated on a full server, counts once', async () => {
    const store = await openStore()
    const engine = new FlowEngine({ flows: [flowOf('Talk')], sessionStore: late(store, outOfMemory.refuseWrites) })
    try {
      const { session } = (await engine.execute({ flowName: 'Talk', userMessage: 'one' })).response
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'two', sessionId: session })
      expect(error).toBeUndefined()
      expect(response.message).toBe('You said: two')
      const history = (await engine.getSession(session))?.history
      expect(history?.map(({ message }) => message)).toEqual(['one', 'two'])
    } finally {
      await outOfMemory.takeWrites()
      await engine.close()
    }
  })
})

/** A store whose first save is reported as failed, and takes effect only just before it is repeated. */
function late(store: KeyvSessionStore, beforeRepeat: () => Promise<void>): SessionStore {
  let first: (() => Promise<void>) | undefined
  return {
    guarantees: store.guarantees,
    load: (sessionId) => store.load(sessionId),
    create: (document) => store.create(document),
    async save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint) {
      const save = (): Promise<void> => store.save(document, expectedRevision, hint)
      if (first === undefined) {
        first = save
        throw new Error('The connection was lost.')
      }
      await first()
      await beforeRepeat()
      await save()
    },
    delete: (sessionId, expectedRevision) => store.delete(sessionId, expectedRevision),
    close: () => store.close(),
  }
}

describe.skipIf(isSqliteMissing)('SQLite (needs npm ci --prefix testing/contract/sqlite)', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnkeeper-sqlite-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /**
   * A database in a file of its own.
   *
   * @param refuse - The statement that makes the store's connection refuse writes; `take` is the one that ends that.
   */
  function database(name: string, refuse: string, take: string): RefusingDatabase {
    let adapter: SqlAdapter | undefined
    const open = (): ReturnType<typeof createSqliteKeyv> => createSqliteKeyv(join(folder, name))
    const past = async <T>(work: (other: SqlAdapter) => Promise<T>): Promise<T> => {
      const keyv = await open()
      try {
        return await work(keyv.store as SqlAdapter)
      } finally {
        await keyv.disconnect()
      }
    }
    return {
      async openStore(cacheBytes) {
        const keyv = await open()
        adapter = keyv.store as SqlAdapter
        return new KeyvSessionStore({ keyv, ...(cacheBytes === undefined ? {} : { cacheBytes }) })
      },
      stored: (sessionId) => past((other) => createSqliteDriver(other).readAll(`turnkeeper:${sessionId}`)),
      countSessions: () => past((other) => countRows(other)),
      refuseWrites: async () => void (await adapter?.query(refuse)),
      takeWrites: async () => void (await adapter?.query(take)),
    }
  }

  describe('a connection that may only read', () => {
    refusedWriteCases(database('read-only.sqlite', 'PRAGMA query_only = ON', 'PRAGMA query_only = OFF'), allFail)
  })

  describe('with a full disk', () => {
    // SQLite raises a limit below the number of pages that there are to that number.
    refusedWriteCases(database('full.sqlite', 'PRAGMA max_page_count = 1', 'PRAGMA max_page_count = 1000000'), mayAbort)
  })
})

describe.skipIf(isPostgresMissing)('Postgres', () => {
  let server: PostgresServer
  let disk: SmallDisk | undefined

  beforeAll(async () => {
    server = await startPostgres()
    if (isSmallDiskMissing) return
    disk = mountSmallDisk('postgres')
    // Only the tables are on the small disk: without room for its log Postgres ends.
    const keyv = await createPostgresKeyv(server.url)
    await (keyv.store as SqlAdapter).query(`CREATE TABLESPACE small LOCATION '${disk.path}'`)
    await (keyv.store as SqlAdapter).query('ALTER DATABASE postgres SET default_tablespace = small')
    await keyv.disconnect()
  })
  afterAll(async () => {
    await server?.close()
    disk?.close()
  })

  async function past<T>(work: (other: SqlAdapter) => Promise<T>): Promise<T> {
    const keyv = await createPostgresKeyv(server.url)
    try {
      return await work(keyv.store as SqlAdapter)
    } finally {
      await keyv.disconnect()
    }
  }

  function database(trouble: Pick<RefusingDatabase, 'refuseWrites' | 'takeWrites'>): RefusingDatabase {
    return {
      async openStore(cacheBytes) {
        const keyv = await createPostgresKeyv(server.url)
        return new KeyvSessionStore({ keyv, ...(cacheBytes === undefined ? {} : { cacheBytes }) })
      },
      stored: (sessionId) => past((other) => createPostgresDriver(other).readAll(`turnkeeper:${sessionId}`)),
      countSessions: () => past(countRows),
      ...trouble,
    }
  }

  describe('transactions that may only read', () => {
    // For the whole server: the pool opens another connection after each statement that failed.
    const setReadOnly = (value: 'on' | 'off'): Promise<void> =>
      past(async (other) => {
        await other.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
        await other.query('SELECT pg_reload_conf()')
        await until(() =>
          past(async (next) => {
            const rows = await next.query('SHOW default_transaction_read_only')
            return JSON.stringify(rows).includes(`"${value}"`)
          }),
        )
      })
    const readOnly = { refuseWrites: () => setReadOnly('on'), takeWrites: () => setReadOnly('off') }
    refusedWriteCases(database(readOnly), allFail)
  })

  describe.skipIf(isSmallDiskMissing)('with a full disk (needs root, and the right to mount a tmpfs)', () => {
    const fullDisk = {
      refuseWrites: async () => void (await disk?.fill()),
      takeWrites: async () => void (await disk?.free()),
    }
    refusedWriteCases(database(fullDisk), mayAbort)
  })
})

async function countRows(adapter: SqlAdapter): Promise<number> {
  const [row] = (await adapter.query('SELECT count(*) AS count FROM turnkeeper_session')) as {
    count: number | string
  }[]
  return Number(row?.count)
}
