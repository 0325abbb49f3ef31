/**
 * Decides that trouble with a SQLite file is an error within its deadline, changes nothing, and is over when it is
 * over: a locked file, a read-only one, a full disk, a file that cannot be opened.
 */
import { spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Keyv } from 'keyv'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SqlAdapter, SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { createSqliteKeyv, type SqliteKeyvOptions } from '../../../src/stores/keyv/drivers/sqlite/create-sqlite-keyv.js'
import { createSqliteDriver } from '../../../src/stores/keyv/drivers/sqlite/sqlite-driver.js'
import { swapOf } from './driver-cases.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

let folder: string
let path: string
const opened: Keyv[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnkeeper-sqlite-'))
  path = join(folder, 'sessions.sqlite')
})
afterEach(async () => {
  for (const keyv of opened.splice(0)) await keyv.disconnect()
  await rm(folder, { recursive: true, force: true })
})

/** One connection; statements go past the driver. */
async function open(
  options: SqliteKeyvOptions = {},
  at: string = path,
): Promise<{ driver: SqlSessionDriver; adapter: SqlAdapter; keyv: Keyv }> {
  const keyv = await createSqliteKeyv(at, options)
  opened.push(keyv)
  const adapter = keyv.store as SqlAdapter
  return { driver: createSqliteDriver(adapter), adapter, keyv }
}

/** Root may write what nobody may write: there, the work is done as the user `nobody`. */
async function asUnprivileged<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.('nobody')
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

const chunks = [['a', 'one']] as const
const next = swapOf('key', { expectedRevision: 'r1', revision: 'r2', head: 'second', chunks: [['b', 'two']] })
const unchanged = { revision: 'r1', head: '{}', chunks: new Map(chunks) }

describe.skipIf(isSqliteMissing)('trouble with SQLite (needs npm ci --prefix testing/contract/sqlite)', () => {
  test('a locked file: writes reject when their patience ends, reads go on, and service returns', async () => {
    const { driver } = await open({ busyTimeoutMs: 150 })
    await driver.swap(swapOf('key', { chunks }))
    const { adapter: locker } = await open()
    await locker.query('BEGIN IMMEDIATE')
    const writes = [() => driver.swap(next), () => driver.remove('key'), () => driver.swap(swapOf('new', {}))]
    const outcomes = await Promise.allSettled(writes.map((write) => write()))
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'rejected'])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'SQLITE_BUSY' } })
    expect(await driver.readAll('key')).toEqual(unchanged)
    await locker.query('ROLLBACK')
    expect(await driver.swap(next)).toBe('done')
  })

  test('a file that is unlocked in time: the write waits for it', async () => {
    const { driver } = await open({ busyTimeoutMs: 30_000 })
    await driver.swap(swapOf('key', { chunks }))
    const { adapter: locker } = await open()
    await locker.query('BEGIN IMMEDIATE')
    const write = driver.swap(next)
    expect(await driver.readAll('key')).toEqual(unchanged)
    await locker.query('COMMIT')
    expect(await write).toBe('done')
  })

  test('close() ends the wait for a locked file', async () => {
    const { driver } = await open({ busyTimeoutMs: 30_000 })
    await driver.swap(swapOf('key', {}))
    const { adapter: locker } = await open()
    await locker.query('BEGIN IMMEDIATE')
    const write = expect(driver.swap(next)).rejects.toThrow('The SQLite driver is closed.')
    await driver.read('key', [])
    await driver.close()
    await write
    await locker.query('ROLLBACK')
  })

  test('a new file that another process has locked: nothing works until it is unlocked, then everything', async () => {
    const { adapter: locker } = await open()
    await locker.query('BEGIN EXCLUSIVE')
    const { driver } = await open({ busyTimeoutMs: 100 })
    await expect(driver.swap(swapOf('key', {}))).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
    await expect(driver.read('key', [])).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
    await locker.query('ROLLBACK')
    expect(await driver.swap(swapOf('key', { chunks }))).toBe('done')
    expect(await driver.readAll('key')).toEqual(unchanged)
  })

  test('a connection that may only read: writes reject, reads go on, and service returns', async () => {
    const { driver, adapter } = await open()
    await driver.swap(swapOf('key', { chunks }))
    await adapter.query('PRAGMA query_only = ON')
    for (const write of [() => driver.swap(next), () => driver.remove('key'), () => driver.purgeExpired()]) {
      await expect(write()).rejects.toMatchObject({ code: 'SQLITE_READONLY' })
    }
    expect(await driver.readAll('key')).toEqual(unchanged)
    await adapter.query('PRAGMA query_only = OFF')
    expect(await driver.swap(next)).toBe('done')
  })

  test('a file and a folder that may only be read: every write rejects, and works again when they may be written', async () => {
    const { driver: before } = await open()
    await before.swap(swapOf('key', { chunks }))
    await before.close()
    await chmod(path, 0o444)
    await chmod(folder, 0o555)
    const { driver } = await asUnprivileged(async () => {
      const opening = await open()
      for (const write of [() => opening.driver.swap(next), () => opening.driver.remove('key')]) {
        await expect(write()).rejects.toMatchObject({ code: expect.stringMatching(/^SQLITE_(READONLY|CANTOPEN)$/) })
      }
      return opening
    })
    await chmod(folder, 0o755)
    await chmod(path, 0o644)
    expect(await driver.readAll('key')).toEqual(unchanged)
    expect(await driver.swap(next)).toBe('done')
  })

  test('a full disk: the write rejects, nothing of it is stored, and service returns', async () => {
    const { driver, adapter } = await open()
    await driver.swap(swapOf('key', { chunks }))
    const [pages] = (await adapter.query('PRAGMA page_count')) as { page_count: number }[]
    await adapter.query(`PRAGMA max_page_count = ${(pages?.page_count ?? 0) + 2}`)
    const big = { ...next, chunks: Array.from({ length: 50 }, (_, index) => [`b${index}`, 'x'.repeat(4_000)] as const) }
    const writes = [big, { ...big, replacesChunks: true }, { ...big, key: 'new', expectedRevision: undefined }]
    for (const write of writes) {
      await expect(driver.swap(write)).rejects.toMatchObject({ code: 'SQLITE_FULL' })
      expect(await driver.readAll('key')).toEqual(unchanged)
      expect(await driver.readAll('new')).toBeUndefined()
    }
    await adapter.query('PRAGMA max_page_count = 1000000')
    expect(await driver.swap(big)).toBe('done')
    expect((await driver.readAll('key'))?.chunks.size).toBe(51)
  })

  test('a file that cannot be opened: every call rejects, until it can; nothing else breaks', async () => {
    const inside = join(folder, 'later', 'sessions.sqlite')
    const { driver, keyv } = await open({}, inside)
    const errors: unknown[] = []
    keyv.on('error', (error: unknown) => errors.push(error))
    for (let attempt = 0; attempt < 3; attempt++) {
      const calls = [driver.read('key', []), driver.swap(swapOf('key', {})), driver.remove('key')]
      for (const outcome of await Promise.allSettled(calls)) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'SQLITE_CANTOPEN' } })
      }
    }
    expect(errors.length).toBeGreaterThan(0)
    await mkdir(join(folder, 'later'))
    expect(await driver.swap(swapOf('key', {}))).toBe('done')
    await driver.close()
    const again = await open({}, inside)
    expect(await again.driver.read('key', [])).toMatchObject({ revision: 'r1' })
  })

  test('a driver over a file that cannot be opened closes, and does not open it after that', async () => {
    const { driver, keyv } = await open({}, join(folder, 'later', 'sessions.sqlite'))
    await driver.close()
    await mkdir(join(folder, 'later'))
    await expect(driver.read('key', [])).rejects.toThrow('The SQLite driver is closed.')
    await expect((keyv.store as SqlAdapter).query('SELECT 1')).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' })
  })

  test('a process that is killed in the middle of its turns leaves whole turns', async () => {
    const { driver } = await open()
    await driver.swap(swapOf('key', { revision: '0', head: '0' }))
    const program = `
      const { default: KeyvSqlite } = require('@keyv/sqlite')
      const adapter = new KeyvSqlite({ uri: process.argv[1], table: 'turnkeeper', busyTimeout: 5000 })
      const turn = async (number) => {
        const chunks = JSON.stringify(Array.from({ length: 20 }, (_, index) => [number + '#' + index, 'x'.repeat(3000)]))
        await adapter.query('UPDATE turnkeeper_session SET revision = ?1, head = ?1, added = ?2, replaces = 0', String(number), chunks)
        process.stdout.write('.')
        return turn(number + 1)
      }
      turn(1)`
    for (let round = 0; round < 3; round++) {
      await driver.swap(swapOf(`round-${round}`, {}))
      await driver.remove('key')
      await driver.swap(swapOf('key', { revision: '0', head: '0' }))
      const child = spawn(process.execPath, ['-e', program, `sqlite://${path}`], {
        cwd: new URL('../sqlite/', import.meta.url),
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const gone = new Promise((resolve) => child.once('exit', resolve))
      await new Promise((resolve) => child.stdout.once('data', resolve))
      child.kill('SIGKILL')
      await gone
      const stored = await driver.readAll('key')
      expect(Number(stored?.head)).toBeGreaterThan(0)
      expect(stored?.revision).toBe(stored?.head)
      expect(stored?.chunks.size).toBe(20 * Number(stored?.head))
    }
  })
})
