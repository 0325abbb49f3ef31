/**
 * What the SQL drivers know of a Keyv adapter, and what they share: rows as they come, setting up once, and an end.
 * Statements are left to the drivers.
 */
import type { SessionDriver, StoredHead, StoredSession } from '../session-driver.js'
import { decodeChunks, decodeText } from './text-escapes.js'

/** The public side of `@keyv/sqlite` and `@keyv/postgres`. */
export interface SqlAdapter {
  readonly opts: {
    readonly dialect?: string
    /** The adapter's own table: the drivers' tables are named after it. */
    readonly table?: string
    readonly schema?: string
    readonly uri?: string
    /** Milliseconds. */
    readonly busyTimeout?: number
    readonly synchronous?: string
  }
  query(statement: string, ...values: unknown[]): Promise<unknown>
  disconnect?(): Promise<unknown>
}

/** Whether `adapter` is one for this kind of database. */
export function isSqlAdapter(adapter: unknown, dialect: 'sqlite' | 'postgres'): adapter is SqlAdapter {
  const { opts, query } = (adapter ?? {}) as { opts?: { dialect?: unknown } | null; query?: unknown }
  return typeof query === 'function' && opts?.dialect === dialect
}

/** A driver for a SQL database, which forgets expired sessions only on request. */
export type SqlSessionDriver = SessionDriver & Required<Pick<SessionDriver, 'purgeExpired'>>

/** Rows that one statement purges: others wait for no longer than that. */
const purgedAtOnce = 500

/** Purges until nothing is left. `purge` removes so many at the most, and resolves to how many it removed. */
export async function purgeAll(purge: (most: number) => Promise<number>): Promise<number> {
  for (let purged = 0; ; ) {
    const count = await purge(purgedAtOnce)
    purged += count
    if (count < purgedAtOnce) return purged
  }
}

/** A row of the statements that read a session. */
export interface SessionRow {
  readonly revision: string
  readonly head: string
  /** JSON: a list of `[name, text]`. */
  readonly chunks?: string | null
}

/** From a row to the head and the chunks that were asked for. */
export function toStoredHead(row: SessionRow, names: readonly string[]): StoredHead {
  const chunks = decodeChunks(row.chunks ?? null)
  return {
    revision: decodeText(row.revision),
    head: decodeText(row.head),
    chunks: names.map((name) => chunks.get(name)),
  }
}

/** From a row to the whole session. */
export function toStoredSession(row: SessionRow): StoredSession {
  return {
    revision: decodeText(row.revision),
    head: decodeText(row.head),
    chunks: decodeChunks(row.chunks ?? null),
  }
}

/** `work`, done once for all callers, and once more after each failure. */
export function onceUntilFailure(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    })
    return done
  }
}
