/**
 * Sessions in Postgres, through the public `query` of `@keyv/postgres`. Decides what a statement's result means if
 * another writer changed the same row. postgres-statements.ts has the statements.
 */
import { invalidInput } from '../../../../errors/engine-errors.js'
import { removalMarkMs, type SessionSwap, type StoredHead, type SwapOutcome } from '../../driver/session-driver.js'
import type { LeaseOptions } from '../polled-leases.js'
import {
  claimedId,
  markRevision,
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
import { type ListedRow, ownerColumn, type SqlListingStatements, sqlPage } from '../sql-listing.js'
import { encodeText } from '../text-escapes.js'
import { type PostgresStatements, postgresStatements } from './postgres-statements.js'

/** The row that a writing statement returns. */
interface WriteRow {
  readonly written: number
  /** The revision that was stored when the statement began; `null` if there was none. */
  readonly found: string | null
}

interface InspectRow {
  readonly has_schema: boolean
  readonly has_tables: boolean
  readonly encoding: string
}

/** How often a statement is run if other writers keep changing its row. Each time, the other writer has succeeded. */
const maxAttempts = 20

/** Postgres truncates longer names, so two tables would get the same name. */
const maxTableBytes = 63 - '_session_expiry'.length

const serializationFailures = ['40001', '40P01']
const createdByAnother = ['23505', '42P06', '42P07', '42710', 'XX000']

/**
 * The driver over an adapter of `@keyv/postgres`. Its tables are named after the adapter's table, and are created on
 * first use.
 *
 * @param lease - Default: no leases.
 * @throws `InvalidInputError` if the name of the adapter's table is too long for that.
 */
export function createPostgresDriver(adapter: SqlAdapter, lease?: LeaseOptions): SqlSessionDriver {
  const { schema = 'public', table = 'keyv' } = adapter.opts
  if (new TextEncoder().encode(table).length > maxTableBytes) {
    throw invalidInput(`The Postgres table name '${table}' is longer than ${maxTableBytes} bytes.`)
  }
  const statements = postgresStatements(schema, table)
  const { perform, close } = openDatabase(adapter, statements)

  const listed = listingStatements(statements, perform)

  /**
   * Runs the statement until its two results agree. If `isPassing` accepts the revision that was found, but no row was
   * written, another writer changed the row in between.
   */
  async function write(
    statement: string,
    values: readonly unknown[],
    isPassing: (found: string | null) => boolean,
  ): Promise<WriteRow> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const [row] = (await perform(statement, values)) as WriteRow[]
      if (row !== undefined && (row.written > 0 || !isPassing(row.found))) return row
    }
    throw new Error(`A session in Postgres was changed by others during each of ${maxAttempts} attempts.`)
  }

  async function storedRevision(key: string): Promise<string | undefined> {
    const [row] = (await perform(statements.readRevision, [encodeText(key)])) as { revision: string }[]
    return row?.revision
  }

  async function readHead(key: string, chunks: readonly string[]): Promise<StoredHead | undefined> {
    const names = chunks.map(encodeText)
    const isWhole = names.length === 0
    const statement = isWhole ? statements.readHead : statements.readChunks
    const [row] = (await perform(statement, [encodeText(key), ...(isWhole ? [] : [names])])) as SessionRow[]
    return row === undefined ? undefined : toStoredHead(row, chunks)
  }

  return {
    guarantees: { compareAndSwap: 'backend', durable: true },
    read: (key, chunks, knownRevision) =>
      readUnlessKnown(
        knownRevision,
        () => storedRevision(key),
        () => readHead(key, chunks),
      ),
    async readAll(key) {
      const [row] = (await perform(statements.readAll, [encodeText(key)])) as SessionRow[]
      return row === undefined ? undefined : toStoredSession(row)
    },
    async swap(swap): Promise<SwapOutcome> {
      const revision = encodeText(swap.revision)
      const expected = swap.expectedRevision === undefined ? null : encodeText(swap.expectedRevision)
      const values = toValues(swap, expected)
      if (expected === null) values.push(ownerColumn(await swap.owner?.()))
      const isPassing = (stored: string | null): boolean =>
        stored === expected && stored !== revision && stored !== markRevision
      const { written, found } = await write(statements[statementOf(swap)], values, isPassing)
      return written > 0 || found === revision ? 'done' : 'conflict'
    },
    async remove(key, expectedRevision): Promise<SwapOutcome> {
      const expected = expectedRevision === undefined ? null : encodeText(expectedRevision)
      const isPassing = (stored: string | null): boolean =>
        stored === null || (stored !== markRevision && (expected === null || stored === expected))
      const { written, found } = await write(statements.remove, [encodeText(key), expected, removalMarkMs], isPassing)
      return written > 0 || found === markRevision ? 'done' : 'conflict'
    },
    async purgeExpired() {
      await purge(perform, statements.purgeClaims)
      return purge(perform, statements.purge)
    },
    async claim(key, sessionId, ttlMs): Promise<string> {
      return claimedId(await perform(statements.claim, [encodeText(key), encodeText(sessionId), ttlMs]))
    },
    isRemoved: async (key) => (await perform(statements.readMark, [encodeText(key)])).length > 0,
    isOwnedBy: async (key, owner) => (await perform(statements.readOwned, [key, owner].map(encodeText))).length > 0,
    list: (listing) => sqlPage(listed, listing),
    ...sqlLeases(lease, statements, perform, close),
  }
}

type Perform = (statement: string, values: readonly unknown[]) => Promise<unknown[]>

function purge(perform: Perform, statement: string): Promise<number> {
  return purgeAll((most) => perform(statement, [most]))
}

function listingStatements(statements: PostgresStatements, perform: Perform): SqlListingStatements {
  async function rows(statement: string, ...values: unknown[]): Promise<ListedRow[]> {
    return (await perform(statement, values)) as ListedRow[]
  }
  return {
    rows: (after, limit) => rows(statements.list, after, limit),
    ownedRows: (ownerKey, after, limit) => rows(statements.listOwned, ownerKey, after, limit),
  }
}

/** Runs statements until it is closed. Creates the tables before the first one, if they are missing. */
function openDatabase(
  adapter: SqlAdapter,
  statements: PostgresStatements,
): {
  perform(statement: string, values?: readonly unknown[]): Promise<unknown[]>
  close(): Promise<void>
} {
  let closing: Promise<void> | undefined

  function run(statement: string, values?: readonly unknown[]): Promise<unknown[]> {
    return repeatOn(serializationFailures, async () => {
      if (closing !== undefined) throw new Error('The Postgres driver is closed.')
      return (await adapter.query(statement, values)) as unknown[]
    })
  }

  async function findMissing(): Promise<readonly string[]> {
    const [row] = (await run(statements.inspect)) as InspectRow[]
    if (row?.encoding !== 'UTF8') {
      throw new Error(`The Postgres database must have the encoding UTF8; it has ${row?.encoding}.`)
    }
    if (row.has_tables) return []
    return row.has_schema ? [statements.createTables] : [statements.createSchema, statements.createTables]
  }

  async function createMissing(): Promise<void> {
    // Check first: a role that may use the tables is not always allowed to create them.
    for (const statement of await findMissing()) await run(statement)
  }

  const setUp = onceUntilFailure(() => repeatOn(createdByAnother, createMissing))

  async function perform(statement: string, values?: readonly unknown[]): Promise<unknown[]> {
    await setUp()
    return run(statement, values)
  }

  return {
    perform,
    close() {
      closing ??= (async () => {
        await adapter.disconnect?.()
      })()
      return closing
    },
  }
}

/** Repeats `work` while it fails with one of these codes. */
async function repeatOn<Result>(codes: readonly string[], work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === maxAttempts || !codes.includes(codeOf(error))) throw error
    }
  }
}

function statementOf(swap: SessionSwap): 'insert' | 'replace' | 'cut' | 'append' {
  if (swap.expectedRevision === undefined) return 'insert'
  if (swap.replacesChunks) return 'replace'
  return swap.removed.length > 0 ? 'cut' : 'append'
}

/** The values for the statements' numbered parameters, in order. */
function toValues(swap: SessionSwap, expected: string | null): unknown[] {
  // A Map, because Postgres refuses to write the same row twice in one statement.
  const chunks = new Map(swap.chunks)
  const names = Array.from(chunks.keys(), encodeText)
  const bodies = Array.from(chunks.values(), encodeText)
  const values: unknown[] = [encodeText(swap.key), encodeText(swap.revision), encodeText(swap.head), swap.ttlMs ?? null]
  values.push(names, bodies)
  if (expected !== null) values.push(expected)
  if (statementOf(swap) === 'cut') values.push(swap.removed.map(encodeText))
  values.push(swap.expiresBy ?? null)
  return values
}

function codeOf(error: unknown): string {
  return String(((error ?? {}) as { code?: unknown }).code)
}
