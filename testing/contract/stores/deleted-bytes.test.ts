/**
 * Decides what is left on the disk of a session that was deleted, in each database, and that the commands of
 * docs/operations.md remove it. Each session has a canary, a text that is found nowhere else.
 */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Keyv } from 'keyv'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { shareList } from '../../../src/session/lists/shared-lists.js'
import type { SqlAdapter } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import {
  createPostgresKeyv,
  createRedisKeyv,
  createSqliteKeyv,
  KeyvSessionStore,
} from '../../../src/stores/keyv/index.js'
import { isPostgresMissing, type PostgresServer, startPostgres } from '../servers/postgres-server.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { redisClient } from './redis-client.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'
import { newSession, turnOn } from './turns.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const newCanary = (): string => `canary-${randomBytes(12).toString('hex')}`

/** Whether a text is in any file of a folder, or in a single file. */
async function isIn(place: string, text: string): Promise<boolean> {
  const isFolder = (await stat(place)).isDirectory()
  const files = isFolder
    ? (await readdir(place, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [place]
  for (const file of files) {
    // A server may remove a file while this looks at it.
    const bytes = await readFile(file).catch(() => Buffer.alloc(0))
    if (bytes.includes(text)) return true
  }
  return false
}

/**
 * A session of three turns, in the context, the history and the memory of which is the canary; the
 * first two turns are cut.
 */
async function talk(store: KeyvSessionStore, id: string, canary: string): Promise<void> {
  const { flow, ...rest } = newSession(id)
  let turn = turnOn({ ...rest, flow: { ...flow, context: { canary } } }, '1-a', `${canary} `.repeat(40))
  await store.create(turn.document)
  for (const revision of ['2-b', '3-c']) {
    turn = turnOn(turn.document, revision, `${canary} `.repeat(200))
    await store.save(turn.document, turn.expectedRevision, turn.hint)
  }
  const { document } = turn
  const shorter = { ...document, revision: '4-d', history: shareList(document.history.slice(2)) }
  await store.save(shorter, '3-c', { appended: {}, removed: { history: 2 } })
}

/** Sessions, half of which are deleted, so that what stays and what goes is on the same pages. */
async function talkAndDelete(keyv: Keyv, canary: string): Promise<void> {
  const store = new KeyvSessionStore({ keyv })
  const ids = Array.from({ length: 20 }, (_, index) => `${canary.slice(-8)}-${index}`)
  for (const [index, id] of ids.entries()) await talk(store, id, index % 2 ? canary : 'what stays')
  for (const [index, id] of ids.entries()) if (index % 2) await store.delete(id)
  await store.close()
}

describe.skipIf(isSqliteMissing)('SQLite (needs npm ci --prefix testing/contract/sqlite)', () => {
  let folder: string
  const files = (path: string): string[] => [path, `${path}-wal`, `${path}-shm`]
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnkeeper-deleted-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('keeps no byte of a deleted session, once PRAGMA wal_checkpoint(TRUNCATE) was run', async () => {
    const [place, canary] = [await mkdtemp(join(folder, 'one-')), newCanary()]
    const path = join(place, 'sessions.sqlite')
    // Another connection, which keeps the write-ahead log from being folded in when the store closes.
    const other = await createSqliteKeyv(path)
    const query = (statement: string): Promise<unknown> => (other.store as SqlAdapter).query(statement)
    await query('PRAGMA journal_mode = WAL')
    await query('SELECT count(*) FROM sqlite_master')
    await talkAndDelete(await createSqliteKeyv(path), canary)
    expect(await isIn(`${path}-wal`, canary)).toBe(true)
    expect(await query('PRAGMA wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }])
    expect(await isIn(place, 'what stays')).toBe(true)
    expect(await isIn(place, canary)).toBe(false)
    await other.disconnect()
    expect(await isIn(place, canary)).toBe(false)
  })

  test('keeps no byte of what was in the file, when that was folded in before the delete', async () => {
    const [place, canary] = [await mkdtemp(join(folder, 'two-')), newCanary()]
    const path = join(place, 'sessions.sqlite')
    const first = new KeyvSessionStore({ keyv: await createSqliteKeyv(path) })
    for (const id of ['a', 'b', 'c']) await talk(first, id, canary)
    await talk(first, 'stays', 'what stays')
    await first.close()
    expect(await isIn(path, canary)).toBe(true)
    const second = new KeyvSessionStore({ keyv: await createSqliteKeyv(path) })
    for (const id of ['a', 'b', 'c']) await second.delete(id)
    // The last connection folds the log in and removes it.
    await second.close()
    expect(await readdir(place)).toEqual(['sessions.sqlite'])
    expect(await isIn(place, 'what stays')).toBe(true)
    expect(await isIn(place, canary)).toBe(false)
  })

  test('makes the file, and with it its log, for its owner alone', async () => {
    const path = join(folder, 'mode.sqlite')
    const store = new KeyvSessionStore({ keyv: await createSqliteKeyv(path) })
    await talk(store, 'a', 'text')
    expect(await Promise.all(files(path).map(modeOf))).toEqual([0o600, 0o600, 0o600])
    await store.close()
  })

  test('does so even if the file could only be opened later', async () => {
    const path = join(folder, 'later', 'mode.sqlite')
    const keyv = await createSqliteKeyv(path)
    const store = new KeyvSessionStore({ keyv })
    await expect(store.load('a')).rejects.toThrow('SQLITE_CANTOPEN')
    await mkdir(join(folder, 'later'))
    await talk(store, 'a', 'text')
    expect(await modeOf(path)).toBe(0o600)
    await store.close()
  })

  test('leaves the mode of a file that is there as it is', async () => {
    const path = join(folder, 'shared.sqlite')
    await writeFile(path, '')
    await chmod(path, 0o640)
    const store = new KeyvSessionStore({ keyv: await createSqliteKeyv(path) })
    await talk(store, 'a', 'text')
    expect(await Promise.all(files(path).map(modeOf))).toEqual([0o640, 0o640, 0o640])
    await store.close()
  })
})

describe.skipIf(isRedisMissing)('Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    // Not compressed, so that the canary would be found in the rewritten file.
    server = await startRedis({ appendOnly: 'always', settings: { rdbcompression: 'no' } })
  })
  afterAll(() => server?.close())

  test('keeps a deleted session in its append-only file until BGREWRITEAOF was run', async () => {
    const canary = newCanary()
    await talkAndDelete(await createRedisKeyv(server.url), canary)
    await redisClient(server.url, async ({ send }) => {
      const [, folder] = (await send(['CONFIG', 'GET', 'dir'])) as string[]
      if (folder === undefined) throw new Error('Redis names no folder.')
      expect(await isIn(folder, canary)).toBe(true)
      await send(['BGREWRITEAOF'])
      const info = async (): Promise<string> => String(await send(['INFO', 'persistence']))
      while (/aof_rewrite_(?:in_progress|scheduled):1/.test(await info()));
      expect(await info()).toContain('aof_last_bgrewrite_status:ok')
      expect(await isIn(folder, 'what stays')).toBe(true)
      // The old file is removed in the background.
      await vi.waitFor(async () => expect(await isIn(folder, canary)).toBe(false), { timeout: 20_000 })
    })
  })
})

describe.skipIf(isPostgresMissing)('Postgres', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.close())

  test('keeps a deleted session in the files of its tables, also after VACUUM, until VACUUM FULL was run', async () => {
    const canary = newCanary()
    await talkAndDelete(await createPostgresKeyv(server.url), canary)
    const keyv = await createPostgresKeyv(server.url, { maxConnections: 1, replyTimeoutMs: 30_000 })
    const query = async (statement: string): Promise<Record<string, string>[]> =>
      (await (keyv.store as SqlAdapter).query(statement)) as Record<string, string>[]
    const [settings] = await query('SHOW data_directory')
    const tables = join(settings?.data_directory ?? '', 'base')
    await query('CHECKPOINT')
    expect(await isIn(tables, canary)).toBe(true)
    await query('VACUUM turnkeeper_session, turnkeeper_chunk')
    await query('CHECKPOINT')
    expect(await isIn(tables, canary)).toBe(true)
    await query('VACUUM FULL turnkeeper_session, turnkeeper_chunk')
    await query('CHECKPOINT')
    expect(await isIn(tables, 'what stays')).toBe(true)
    expect(await isIn(tables, canary)).toBe(false)
    await keyv.disconnect()
  })
})
