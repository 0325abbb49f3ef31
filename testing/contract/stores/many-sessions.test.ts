// Decides that an engine lists, erases and sweeps ten thousand sessions of a hundred owners on every store, and that
// nothing of an owner who was erased is left: neither in what the store returns, nor in what its backend holds.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Keyv } from 'keyv'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FlowEngine, MemorySessionStore, type SessionDocument, type SessionStore } from '../../../src/index.js'
import type { SqlAdapter } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import {
  createPostgresKeyv,
  createRedisKeyv,
  createSqliteKeyv,
  KeyvSessionStore,
} from '../../../src/stores/keyv/index.js'
import { newSession } from '../../suites/stores/bench/documents.js'
import { isPostgresMissing, startPostgres } from '../servers/postgres-server.js'
import { isRedisMissing, startRedis } from '../servers/redis-server.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const owners = 100
const sessionsOfEach = 100
const all = owners * sessionsOfEach
const day = 24 * 60 * 60 * 1_000
/** How many sessions are stored at the same time. */
const atOnce = 100

const ownerOf = (number: number): string => `owner-${String(number).padStart(3, '0')}@example.com`

interface Backend {
  readonly store: SessionStore
  /** How many texts of the backend contain this one, keys included. */
  count(text: string): Promise<number>
  close(): Promise<void>
}

/** One in four is old, one in three has ended. */
function documentOf(index: number): SessionDocument {
  const owner = ownerOf(index % owners)
  const session = newSession(`session-${index}`, { message: `I am ${owner}.` })
  const savedAt = index % 4 === 0 ? '2020-01-01T00:00:00.000Z' : session.savedAt
  return { ...session, owner, savedAt, runStatus: index % 3 === 0 ? 'completed' : 'running' }
}

async function fill(store: SessionStore): Promise<void> {
  for (let first = 0; first < all; first += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => store.create(documentOf(first + index))))
  }
}

const inMemory = async (): Promise<Backend> => {
  const backing = new Map<string, SessionDocument>()
  const count = async (text: string): Promise<number> =>
    [...backing].filter((entry) => JSON.stringify(entry).includes(text)).length
  return { store: new MemorySessionStore({ backing }), count, close: async () => undefined }
}

const inKeyvMap = async (): Promise<Backend> => {
  const map = new Map<string, { head: string; chunks: Map<string, string> }>()
  const count = async (text: string): Promise<number> =>
    [...map].filter(([key, { head, chunks }]) => `${key}${head}${JSON.stringify([...chunks])}`.includes(text)).length
  return { store: new KeyvSessionStore({ keyv: new Keyv({ store: map }) }), count, close: async () => undefined }
}

const inRedis = async (): Promise<Backend> => {
  const server = await startRedis()
  // Counts keys whose name, fields or members contain the text.
  const script = `local found = 0
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local kind, text = redis.call('TYPE', key).ok, key
      if kind == 'hash' then text = text .. table.concat(redis.call('HGETALL', key), ' ') end
      if kind == 'zset' then text = text .. table.concat(redis.call('ZRANGE', key, 0, -1), ' ') end
      if string.find(text, ARGV[1], 1, true) then found = found + 1 end
    end
    return found`
  return {
    store: new KeyvSessionStore({ keyv: await createRedisKeyv(server.url) }),
    count: async (text) => Number((await server.command('EVAL', script, '0', text)).slice(1)),
    close: () => server.close(),
  }
}

async function countRows(keyv: Keyv, text: string): Promise<number> {
  const contains = (column: string): string => `${column} LIKE '%${text.replaceAll('_', '\\_')}%'`
  const rows = await (keyv.store as SqlAdapter).query(
    `SELECT (SELECT count(*) FROM turnkeeper_session WHERE ${contains('key')} OR ${contains('head')} OR ${contains('owner')})
      + (SELECT count(*) FROM turnkeeper_chunk WHERE ${contains('body')}) AS found`,
  )
  return Number((rows as { found: unknown }[])[0]?.found)
}

const inSqlite = async (): Promise<Backend> => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-many-'))
  const keyv = await createSqliteKeyv(join(folder, 'many.sqlite'), { synchronous: 'normal' })
  const past = await createSqliteKeyv(join(folder, 'many.sqlite'))
  return {
    store: new KeyvSessionStore({ keyv }),
    count: async (text) => countRows(past, text),
    async close() {
      await past.disconnect()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const inPostgres = async (): Promise<Backend> => {
  const server = await startPostgres()
  const past = await createPostgresKeyv(server.url, { maxConnections: 1 })
  return {
    store: new KeyvSessionStore({ keyv: await createPostgresKeyv(server.url) }),
    count: (text) => countRows(past, text),
    async close() {
      await past.disconnect()
      await server.close()
    },
  }
}

describe.each([
  { name: 'memory', isMissing: false, open: inMemory },
  { name: "Keyv's Map", isMissing: false, open: inKeyvMap },
  { name: 'Redis', isMissing: isRedisMissing, open: inRedis },
  { name: 'SQLite', isMissing: isSqliteMissing, open: inSqlite },
  { name: 'Postgres', isMissing: isPostgresMissing, open: inPostgres },
])('ten thousand sessions of a hundred owners in $name', ({ isMissing, open }) => {
  let backend: Backend
  let engine: FlowEngine

  beforeAll(async () => {
    if (isMissing) return
    backend = await open()
    await fill(backend.store)
    engine = new FlowEngine({ sessionStore: backend.store, limits: { storeTimeoutMs: 60_000 } })
  })
  afterAll(async () => {
    await engine?.close()
    await backend?.close()
  })

  /** The IDs on all pages. */
  async function idsOf(query: Parameters<FlowEngine['listSessions']>[0]): Promise<string[]> {
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await engine.listSessions({ ...query, ...(cursor === undefined ? {} : { cursor }) })
      ids.push(...page.sessions.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids.sort()
  }

  test.skipIf(isMissing)('are listed, page by page, each once', async () => {
    const expected = Array.from({ length: all }, (_, index) => `session-${index}`).sort()
    const ids = await idsOf({ limit: 500 })
    expect([...new Set(ids)]).toEqual(expected)
    const ofOne = expected.filter((id) => Number(id.slice('session-'.length)) % owners === 17)
    expect(await idsOf({ owner: ownerOf(17), limit: 30 })).toEqual(ofOne)
    const old = ofOne.filter((id) => Number(id.slice('session-'.length)) % 4 === 0)
    expect(await idsOf({ owner: ownerOf(17), savedBefore: '2021-01-01T00:00:00Z' })).toEqual(old)
  })

  test.skipIf(isMissing)('lose an owner who is erased, and no byte of that owner is left', async () => {
    const owner = ownerOf(42)
    expect(await backend.count(owner)).toBeGreaterThan(0)
    expect(await engine.eraseOwner(owner)).toEqual({ deleted: sessionsOfEach, failed: 0 })
    expect(await idsOf({ owner })).toEqual([])
    expect(await backend.count(owner)).toBe(0)
    // Nothing names one of the sessions either, except the mark that keeps its ID from being used again.
    expect(await backend.count('session-1042')).toBeLessThanOrEqual(1)
    expect((await idsOf({ limit: 1_000 })).length).toBeGreaterThanOrEqual(all - sessionsOfEach)
    expect(await idsOf({ owner: ownerOf(43) })).toHaveLength(sessionsOfEach)
  })

  test.skipIf(isMissing)('are swept: a dry run reports what the real one removes', async () => {
    const before = new Set(await idsOf({ limit: 1_000 }))
    const reports: string[][] = []
    for (const dryRun of [true, false]) {
      const ids: string[] = []
      const result = await engine.sweep({
        olderThan: day,
        status: 'completed',
        dryRun,
        onProgress: ({ session }) => void ids.push(session.id),
      })
      expect(result).toEqual({ deleted: ids.length, failed: 0 })
      reports.push(ids.sort())
    }
    expect(reports[0]).toEqual(reports[1])
    expect(reports[0]?.length).toBeGreaterThan(all / 13)
    const after = new Set(await idsOf({ limit: 1_000 }))
    expect([...before].filter((id) => !after.has(id)).sort()).toEqual(reports[1])
    expect(await idsOf({ runStatus: 'completed', savedBefore: '2021-01-01T00:00:00Z', limit: 1_000 })).toEqual([])
  })
})
