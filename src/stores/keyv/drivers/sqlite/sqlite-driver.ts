/**
 * Sessions in SQLite, through the public `query` of `@keyv/sqlite`. One connection runs one statement at a time, so
 * statements wait for each other here, and not in Node's shared thread pool. If another process has locked the file, a
 * statement is tried again for a while. sqlite-statements.ts has the statements.
 */
import { removalMarkMs, type SessionSwap, type StoredHead, type SwapOutcome } from '../../driver/session-driver.js'
import type { LeaseOptions } from '../polled-leases.js'
import {
  claimedId,
  onceUntilFailure,
  purgeAll,
  readUnlessKnown,
  type SessionRow,
  type SqlAdapter,
  type SqlSessionDriver,
  toStoredHead,
  toStoredSession,
} from '../sql-adapter.js'
import { sqlLeases } from '../sql-leases.js'
import { type ListedRow, ownerColumn, sqlPage } from '../sql-listing.js'
import { encodeText } from '../text-escapes.js'
import { type SqliteStatements, sqliteStatements } from './sqlite-statements.js'

/** Milliseconds during which a locked file is tried again, if the adapter has no `busyTimeout`. */
const defaultBusyTimeoutMs = 2_500

/** Milliseconds that SQLite itself waits for a lock. All other statements wait meanwhile. */
const busyTimeoutInSqlite = 20
const pauseMs = 10

/**
 * The driver over an adapter of `@keyv/sqlite`. Its tables are named after the adapter's, and created on first use.
 *
 * @param lease - Default: no leases.
 */
export function createSqliteDriver(adapter: SqlAdapter, lease?: LeaseOptions): SqlSessionDriver {
  const statements = sqliteStatements(adapter.opts.table ?? 'keyv')
  const { perform, close } = openDatabase(adapter, statements)

  function purge(statement: string): Promise<number> {
    return purgeAll((most) => perform(statement, most))
  }

  async function storedRevision(key: string): Promise<string | undefined> {
    const [row] = (await perform(statements.readRevision, key)) as { revision: string }[]
    return row?.revision
  }

  async function readHead(key: string, chunks: readonly string[]): Promise<StoredHead | undefined> {
    const isWhole = chunks.length === 0
    const values = isWhole ? [] : [JSON.stringify(chunks.map(encodeText))]
    const statement = isWhole ? statements.readHead : statements.readChunks
    const [row] = (await perform(statement, encodeText(key), ...values)) as SessionRow[]
    return row === undefined ? undefined : toStoredHead(row, chunks)
  }

  async function rows(statement: string, ...values: unknown[]): Promise<ListedRow[]> {
    return (await perform(statement, ...values)) as ListedRow[]
  }

  return {
    guarantees: { compareAndSwap: 'backend', durable: !isInMemory(adapter) },
    read: (key, chunks, knownRevision) =>
      readUnlessKnown(
        knownRevision,
        () => storedRevision(encodeText(key)),
        () => readHead(key, chunks),
      ),
    async readAll(key) {
      const [row] = (await perform(statements.readAll, encodeText(key))) as SessionRow[]
      return row === undefined ? undefined : toStoredSession(row)
    },
    async swap(swap): Promise<SwapOutcome> {
      const { key, values } = toValues(swap)
      const stored =
        swap.expectedRevision === undefined
          ? await perform(statements.insert, ...values, ownerColumn(await swap.owner?.()))
          : await perform(statements.update, ...values)
      if (stored.length > 0) return 'done'
      return (await storedRevision(key)) === encodeText(swap.revision) ? 'done' : 'conflict'
    },
    async remove(key, expectedRevision): Promise<SwapOutcome> {
      const kept = encodeText(key)
      const expected = expectedRevision === undefined ? null : encodeText(expectedRevision)
      const removed = await perform(statements.remove, kept, expected, removalMarkMs)
      if (removed.length > 0 || expected === null) return 'done'
      return (await storedRevision(kept)) === undefined ? 'done' : 'conflict'
    },
    async purgeExpired() {
      await purge(statements.purgeClaims)
      return purge(statements.purge)
    },
    async claim(key, sessionId, ttlMs): Promise<string> {
      const stored = await perform(statements.claim, encodeText(key), encodeText(sessionId), Math.ceil(ttlMs))
      return claimedId(stored)
    },
    isRemoved: async (key) => (await perform(statements.readMark, encodeText(key))).length > 0,
    isOwnedBy: async (key, owner) =>
      (await perform(statements.readOwned, encodeText(key), encodeText(owner))).length > 0,
    async list(listing) {
      return sqlPage(
        {
          rows: (after, limit) => rows(statements.list, after, limit),
          ownedRows: (ownerKey, after, limit) => rows(statements.listOwned, ownerKey, after, limit),
        },
        listing,
      )
    },
    ...sqlLeases(lease, statements, (statement, values) => perform(statement, ...values), close),
  }
}

/** Runs statements, one at a time, until it is closed. Creates the tables before the first one, if they are missing. */
function openDatabase(
  adapter: SqlAdapter,
  statements: SqliteStatements,
): {
  perform(statement: string, ...values: unknown[]): Promise<unknown[]>
  close(): Promise<void>
} {
  const patienceMs = adapter.opts.busyTimeout || defaultBusyTimeoutMs
  let last: Promise<unknown> = Promise.resolve()
  let closing: Promise<void> | undefined

  function inTurn(statement: string, values: readonly unknown[]): Promise<unknown[]> {
    const result = last.then(() => {
      if (closing !== undefined) throw closedError()
      return adapter.query(statement, ...values) as Promise<unknown[]>
    })
    last = result.catch(() => undefined)
    return result
  }

  async function run(statement: string, ...values: unknown[]): Promise<unknown[]> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      try {
        return await inTurn(statement, values)
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw error
        await pause(pauseMs * (0.5 + Math.random()))
      }
    }
  }

  const setUp = onceUntilFailure(async () => {
    await run(`PRAGMA busy_timeout = ${busyTimeoutInSqlite}`)
    await run(`PRAGMA synchronous = ${adapter.opts.synchronous === 'normal' ? 'NORMAL' : 'FULL'}`)
    // Deleted and replaced content is overwritten with zeros, and not only marked as free.
    await run('PRAGMA secure_delete = ON')
    const [found] = (await run(statements.countObjects)) as { objects: number }[]
    if (found?.objects === statements.objects) return
    for (const statement of statements.create) await run(statement)
  })

  async function perform(statement: string, ...values: unknown[]): Promise<unknown[]> {
    if (closing !== undefined) throw closedError()
    await setUp()
    return run(statement, ...values)
  }

  return {
    perform,
    close() {
      closing ??= last.then(async () => {
        await adapter.disconnect?.()
      })
      return closing
    },
  }
}

/** The values for the statements' numbered parameters, in order. */
function toValues(swap: SessionSwap): { key: string; values: readonly unknown[] } {
  const { expectedRevision, replacesChunks, ttlMs, expiresBy = null } = swap
  const key = encodeText(swap.key)
  const changes = [...swap.chunks.map((pair) => pair.map(encodeText)), ...swap.removed.map(encodeText)]
  const changesChunks = replacesChunks || changes.length > 0 || expectedRevision === undefined
  const added = changesChunks ? JSON.stringify(changes) : null
  const values = [key, encodeText(swap.revision), ttlMs ?? null, encodeText(swap.head), added]
  if (expectedRevision === undefined) return { key, values: [...values, expiresBy] }
  return { key, values: [...values, encodeText(expectedRevision), replacesChunks ? 1 : 0, expiresBy] }
}

function isBusy(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED'
}

function isInMemory({ opts }: SqlAdapter): boolean {
  const path = (opts.uri ?? '').replace(/^sqlite:\/\//, '')
  return path === '' || path.includes(':memory:')
}

function closedError(): Error {
  return new Error('The SQLite driver is closed.')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
