/** The stores that long sessions are kept in, each with a look past the store at what its backend holds. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Keyv } from 'keyv'
import { MemorySessionStore, type SessionDocument, type SessionStore } from '../../../src/index.js'
import { createPostgresDriver } from '../../../src/stores/keyv/drivers/postgres/postgres-driver.js'
import { createRedisDriver } from '../../../src/stores/keyv/drivers/redis/redis-driver.js'
import type { SqlAdapter } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { createSqliteDriver } from '../../../src/stores/keyv/drivers/sqlite/sqlite-driver.js'
import {
  createPostgresKeyv,
  createRedisKeyv,
  createSqliteKeyv,
  KeyvSessionStore,
  type SessionDriver,
} from '../../../src/stores/keyv/index.js'
import { startPostgres } from '../servers/postgres-server.js'
import { startRedis } from '../servers/redis-server.js'
import { startTcpProxy } from '../servers/tcp-proxy.js'
import { countingDriver, type DriverTraffic } from './counting-driver.js'

/** A store of one process. */
export interface OpenStore {
  readonly store: SessionStore
  /** What the store asked of its backend since the last call; absent for a store without a backend. */
  takeTraffic?(): DriverTraffic
  /** The Redis commands since the last call. */
  takeCommands?(): readonly string[]
}

/** A backend under test. */
export interface Backend {
  /** A store of another process each time. It must be closed by its engine. */
  open(): Promise<OpenStore>
  /**
   * The bytes that the backend holds for a session: the bytes of its texts and, if known, the server memory that it
   * takes.
   */
  storedBytes?(sessionId: string): Promise<{ readonly texts: number; readonly memory?: number }>
  close(): Promise<void>
}

export function memoryBackend(): Promise<Backend> {
  const backing = new Map<string, SessionDocument>()
  return Promise.resolve({
    open: () => Promise.resolve({ store: new MemorySessionStore({ backing }) }),
    close: () => Promise.resolve(),
  })
}

export async function redisBackend(): Promise<Backend> {
  const server = await startRedis()
  const proxy = await startTcpProxy(server.port)
  const ask = async (...words: string[]): Promise<number> => Number((await server.command(...words)).slice(1))
  return {
    async open() {
      const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`, { replyTimeoutMs: 4_000 })
      const takeCommands = (): readonly string[] => proxy.takeTraffic().commands
      return { ...counted(keyv, createRedisDriver(keyv)), takeCommands }
    },
    async storedBytes(sessionId) {
      const key = `turnkeeper::${sessionId}`
      const memory = await ask('MEMORY', 'USAGE', key, 'SAMPLES', '0')
      return { texts: await ask('EVAL', sumOfFields, '1', key), memory: Number.isNaN(memory) ? 0 : memory }
    },
    async close() {
      await proxy.close()
      await server.close()
    },
  }
}

export async function postgresBackend(): Promise<Backend> {
  const server = await startPostgres()
  const past = await createPostgresKeyv(server.url, { maxConnections: 1 })
  return {
    async open() {
      const keyv = await createPostgresKeyv(server.url, { maxConnections: 2 })
      return counted(keyv, createPostgresDriver(keyv.store as SqlAdapter))
    },
    storedBytes: () => bytesOfRows(past, (column) => `octet_length(${column})`),
    async close() {
      await past.disconnect()
      await server.close()
    },
  }
}

export async function sqliteBackend(): Promise<Backend> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-long-'))
  const path = join(folder, 'sessions.sqlite')
  const past = await createSqliteKeyv(path)
  return {
    async open() {
      // How long a disk takes to write is not what these tests are about.
      const keyv = await createSqliteKeyv(path, { synchronous: 'normal' })
      return counted(keyv, createSqliteDriver(keyv.store as SqlAdapter))
    },
    storedBytes: () => bytesOfRows(past, (column) => `length(CAST(${column} AS BLOB))`),
    async close() {
      await past.disconnect()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function counted(keyv: Keyv, inner: SessionDriver): OpenStore {
  const { driver, takeTraffic } = countingDriver(inner)
  return { store: new KeyvSessionStore({ keyv, driver }), takeTraffic }
}

/** The names and texts of all fields of a hash. */
const sumOfFields = `local sum = 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do sum = sum + #field + redis.call('HSTRLEN', KEYS[1], field) end
  return sum`

/** The texts in both tables, which hold one session. */
async function bytesOfRows({ store }: Keyv, lengthOf: (column: string) => string): Promise<{ readonly texts: number }> {
  const rows = await (store as SqlAdapter).query(
    `SELECT (SELECT coalesce(sum(${lengthOf('head')}), 0) FROM turnkeeper_session)
      + (SELECT coalesce(sum(${lengthOf('name')} + ${lengthOf('body')}), 0) FROM turnkeeper_chunk) AS bytes`,
  )
  return { texts: Number((rows as { bytes: unknown }[])[0]?.bytes) }
}
