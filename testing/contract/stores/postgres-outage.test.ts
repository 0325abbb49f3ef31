/**
 * Decides that a Postgres that is down, hangs or ends in the middle of a statement is an error within its deadline,
 * stores a swap whole or not at all, and is used again when it is back, without help.
 */
import type { Keyv } from 'keyv'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createPostgresKeyv,
  type PostgresKeyvOptions,
} from '../../../src/stores/keyv/drivers/postgres/create-postgres-keyv.js'
import { createPostgresDriver } from '../../../src/stores/keyv/drivers/postgres/postgres-driver.js'
import type { SqlAdapter, SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { isPostgresMissing, type PostgresServer, startPostgres } from '../servers/postgres-server.js'
import { swapOf } from './driver-cases.js'

/** Short, but longer than what a busy machine needs to answer. */
const timeouts = { connectTimeoutMs: 1_500, replyTimeoutMs: 2_000 }
/** Far above the two together, and far below the 60 s in which nothing would have ended by itself. */
const deadlineMs = 20_000

let server: PostgresServer
const opened: Keyv[] = []

beforeEach(async () => {
  server = await startPostgres()
})
afterEach(async () => {
  for (const keyv of opened.splice(0)) await keyv.disconnect()
  await server?.close()
})

async function open(
  options: PostgresKeyvOptions = timeouts,
): Promise<{ driver: SqlSessionDriver; adapter: SqlAdapter }> {
  const keyv = await createPostgresKeyv(server.url, options)
  opened.push(keyv)
  const adapter = keyv.store as SqlAdapter
  return { driver: createPostgresDriver(adapter), adapter }
}

async function expectAllRejected(driver: SqlSessionDriver): Promise<void> {
  const startedAt = performance.now()
  const outcomes = await Promise.allSettled([
    driver.read('key', []),
    driver.read('other', ['a']),
    driver.readAll('key'),
    driver.swap(swapOf('new', {})),
    driver.remove('key'),
    driver.purgeExpired(),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'))
  expect(performance.now() - startedAt).toBeLessThan(deadlineMs)
}

/** Until the server takes it: each attempt is on its own, nothing is reconnected by hand. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < deadlineMs; ) {
    try {
      await work()
      return
    } catch {
      // The next attempt.
    }
  }
  throw new Error('Service did not return.')
}

const next = swapOf('key', { expectedRevision: 'r1', revision: 'r2', head: 'second', chunks: [['b', 'two']] })

describe.skipIf(isPostgresMissing)('trouble with Postgres', () => {
  test('down before the first use: every call rejects, and works as soon as it is up', async () => {
    await server.stop()
    const { driver } = await open()
    await expectAllRejected(driver)
    await server.start()
    await untilDone(() => driver.swap(swapOf('key', {})))
    expect(await driver.read('key', [])).toMatchObject({ revision: 'r1' })
  })

  test.each(['stop', 'kill'] as const)(
    '%s while connections are idle: every call rejects, sessions are kept',
    async (end) => {
      const { driver } = await open()
      await driver.swap(swapOf('key', { chunks: [['a', 'one']] }))
      await Promise.all(Array.from({ length: 8 }, () => driver.read('key', [])))
      await server[end]()
      await expectAllRejected(driver)
      await server.start()
      await untilDone(() => driver.swap(next))
      const chunks = new Map([
        ['a', 'one'],
        ['b', 'two'],
      ])
      expect(await driver.readAll('key')).toEqual({ revision: 'r2', head: 'second', chunks })
    },
  )

  test('hanging: every call rejects in time, and works again when it goes on', async () => {
    const { driver } = await open()
    await driver.swap(swapOf('key', {}))
    server.pause()
    await expectAllRejected(driver)
    await expectAllRejected(driver)
    server.resume()
    await untilDone(() => driver.read('key', []))
    expect(await driver.read('new', [])).toBeUndefined()
  })

  test('killed under load: each acknowledged swap is there whole, each other one whole or not at all', async () => {
    const { driver } = await open({ ...timeouts, maxConnections: 5 })
    await driver.swap(swapOf('warm', {}))
    const acknowledged: string[] = []
    const tried: string[] = []
    let running = true
    const writers = Array.from({ length: 5 }, async (_, writer) => {
      for (let turn = 0; running; turn++) {
        const key = `${writer}-${turn}`
        tried.push(key)
        const chunks = Array.from({ length: 20 }, (__, index) => [`c${index}`, 'x'.repeat(500)] as const)
        await driver.swap(swapOf(key, { chunks })).then(
          () => acknowledged.push(key),
          () => new Promise((resolve) => setTimeout(resolve, 5)),
        )
      }
    })
    while (acknowledged.length < 100) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.kill()
    running = false
    await Promise.all(writers)
    await server.start()
    await untilDone(() => driver.read('warm', []))
    let whole = 0
    for (const key of tried) {
      const stored = await driver.readAll(key)
      if (acknowledged.includes(key)) expect(stored?.chunks.size).toBe(20)
      if (stored === undefined) continue
      expect(stored.chunks.size).toBe(20)
      whole++
    }
    console.log(`${tried.length} swaps tried, ${acknowledged.length} acknowledged, ${whole} stored`)
  })

  test('a row that another transaction holds: the swap rejects in time, and changes nothing', async () => {
    const { driver } = await open()
    await driver.swap(swapOf('key', {}))
    const { adapter: holder } = await open({ ...timeouts, replyTimeoutMs: 30_000, maxConnections: 1 })
    await holder.query('BEGIN')
    await holder.query("SELECT 1 FROM turnkeeper_session WHERE key = 'key' FOR UPDATE")
    await expect(driver.swap(next)).rejects.toMatchObject({ code: '57014' })
    expect(await driver.read('key', ['b'])).toEqual({ revision: 'r1', head: '{}', chunks: [undefined] })
    await holder.query('ROLLBACK')
    expect(await driver.swap(next)).toBe('done')
  })

  test('a swap that waits for the same swap, sent before, finds it done', async () => {
    const { driver } = await open({ ...timeouts, replyTimeoutMs: 30_000 })
    await driver.swap(swapOf('key', {}))
    const { adapter: first } = await open({ ...timeouts, replyTimeoutMs: 30_000, maxConnections: 1 })
    const { adapter: watcher } = await open()
    for (const [key, statement] of [
      ['key', "UPDATE turnkeeper_session SET revision = 'r2' WHERE key = 'key'"],
      ['new', "INSERT INTO turnkeeper_session (key, revision, head, owner) VALUES ('new', 'r2', '{}', '')"],
    ] as const) {
      await first.query('BEGIN')
      await first.query(statement)
      const again = driver.swap({ ...next, key, expectedRevision: key === 'key' ? 'r1' : undefined })
      const other = driver.swap({ ...next, key, expectedRevision: key === 'key' ? 'r1' : undefined, revision: 'r9' })
      const removal = driver.remove(key, 'r1')
      // All that meet the row wait for its lock.
      while ((await waiting(watcher)) < 3) await new Promise((resolve) => setTimeout(resolve, 5))
      await first.query('COMMIT')
      expect(await again).toBe('done')
      expect(await other).toBe('conflict')
      expect(await removal).toBe('conflict')
      expect((await driver.readAll(key))?.chunks.size).toBe(0)
    }
  })

  test('a database whose transactions are serializable loses no race and raises no error', async () => {
    const { adapter } = await open()
    await adapter.query("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    const { driver } = await open({ ...timeouts, replyTimeoutMs: 30_000 })
    for (let round = 0; round < 5; round++) {
      const key = `${round}`
      for (const expectedRevision of [undefined, 'r0']) {
        const swaps = Array.from({ length: 20 }, (_, index) =>
          driver.swap(
            swapOf(key, { expectedRevision, revision: expectedRevision === undefined ? 'r0' : `r${index + 1}` }),
          ),
        )
        const won = (await Promise.all(swaps)).filter((outcome) => outcome === 'done')
        expect(won).toHaveLength(expectedRevision === undefined ? 20 : 1)
      }
    }
  })

  test('a role that may use the tables but not make any', async () => {
    const { driver, adapter } = await open()
    await driver.swap(swapOf('key', {}))
    await adapter.query(`CREATE ROLE app LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
      GRANT SELECT, INSERT, UPDATE, DELETE ON turnkeeper_session, turnkeeper_chunk TO app`)
    const keyv = await createPostgresKeyv(server.url.replace('postgres@', 'app@'), timeouts)
    opened.push(keyv)
    const restricted = createPostgresDriver(keyv.store as SqlAdapter)
    expect(await restricted.swap(next)).toBe('done')
    expect(await restricted.remove('key', 'r2')).toBe('done')
  })

  test('a database that is not in UTF8 is refused with an error that names its encoding', async () => {
    const { adapter } = await open({ ...timeouts, replyTimeoutMs: 30_000 })
    await adapter.query("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    const keyv = await createPostgresKeyv(server.url.replace(/postgres$/, 'latin'), timeouts)
    opened.push(keyv)
    const message = 'The Postgres database must have the encoding UTF8; it has LATIN1.'
    await expect(createPostgresDriver(keyv.store as SqlAdapter).read('key', [])).rejects.toThrow(message)
  })
})

/** How many connections wait for a lock. */
async function waiting(adapter: SqlAdapter): Promise<number> {
  const statement = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  const [row] = (await adapter.query(statement)) as { count: number }[]
  return row?.count ?? 0
}
