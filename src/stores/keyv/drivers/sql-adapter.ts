/**
 * The code that the SQL drivers share: the part of a Keyv adapter that they use, the rows that statements return, and
 * creating the tables once. The statements are in each driver's own folder.
 */
import type { SessionDriver, StoredHead, StoredSession } from '../driver/session-driver.js'
import { decodeChunks, decodeText, encodeText } from './text-escapes.js'

/** The public part of `@keyv/sqlite` and `@keyv/postgres` that the drivers use. */
export interface SqlAdapter {
  readonly opts: {
    readonly dialect?: string
    /** The adapter's own table. The drivers' tables are named after it. */
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

/** Whether `adapter` is an adapter for this kind of database. */
export function isSqlAdapter(adapter: unknown, dialect: 'sqlite' | 'postgres'): adapter is SqlAdapter {
  const { opts, query } = (adapter ?? {}) as { opts?: { dialect?: unknown } | null; query?: unknown }
  return typeof query === 'function' && opts?.dialect === dialect
}

/** A driver for a SQL database, which removes expired sessions only on request. */
export type SqlSessionDriver = SessionDriver &
  Required<Pick<SessionDriver, 'purgeExpired' | 'claim' | 'isRemoved' | 'list'>>

/** Rows that one statement removes, so that other statements do not wait for a longer one. */
const purgedAtOnce = 500

/** The revision in the row that marks a removed session. Its head and owner are empty, too. */
export const markRevision = ''

/**
 * Removes until nothing is left, and returns how many of the removed rows were sessions.
 *
 * @param purge - Removes at most so many rows, and returns them.
 */
export async function purgeAll(
  purge: (most: number) => Promise<readonly unknown[]>,
  mostAtOnce: number = purgedAtOnce,
): Promise<number> {
  for (let purged = 0; ; ) {
    const rows = (await purge(mostAtOnce)) as readonly { readonly revision?: string }[]
    purged += rows.filter(({ revision }) => revision !== markRevision).length
    if (rows.length < mostAtOnce) return purged
  }
}

/** A row of the statements that read a session. */
export interface SessionRow {
  readonly revision: string
  readonly head: string
  /** JSON: a list of `[name, text]`. */
  readonly chunks?: string | null
}

/**
 * Reads the head of a session. If the caller already has the stored revision, reads only the revision.
 *
 * @param storedRevision - Reads the revision in its stored form; `undefined` if there is no session.
 */
export async function readUnlessKnown(
  knownRevision: string | undefined,
  storedRevision: () => Promise<string | undefined>,
  readHead: () => Promise<StoredHead | undefined>,
): Promise<StoredHead | undefined> {
  if (knownRevision === undefined) return readHead()
  const stored = await storedRevision()
  if (stored === undefined) return undefined
  return stored === encodeText(knownRevision) ? { revision: knownRevision, head: '', chunks: [] } : readHead()
}

/** The head in a row, and the requested chunks. */
export function toStoredHead(row: SessionRow, names: readonly string[]): StoredHead {
  const chunks = decodeChunks(row.chunks ?? null)
  return {
    revision: decodeText(row.revision),
    head: decodeText(row.head),
    chunks: names.map((name) => chunks.get(name)),
  }
}

/** The whole session in a row. */
export function toStoredSession(row: SessionRow): StoredSession {
  return {
    revision: decodeText(row.revision),
    head: decodeText(row.head),
    chunks: decodeChunks(row.chunks ?? null),
  }
}

/** The session ID in the row that the claim statement returned. */
export function claimedId(rows: readonly unknown[]): string {
  const [row] = rows as { session_id: string }[]
  if (row === undefined) throw new Error('The database returned no row for a claim.')
  return decodeText(row.session_id)
}

/** Runs `work` once for all callers; after a failure the next call runs it again. */
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
