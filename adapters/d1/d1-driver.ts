/**
 * The driver of `ChunkedSessionStore` for a D1 database. Everything goes through `batch`, which is one request and one
 * transaction, however many statements it has. d1-statements.ts has the statements.
 */

import {
  removalMarkMs,
  type SessionDriver,
  type SessionListing,
  type SessionOwner,
  type SessionSwap,
  type StoredHead,
  type StoredSession,
  type SwapOutcome,
} from '../../src/stores/keyv/driver/session-driver.js'
import { claimedId, purgeAll } from '../../src/stores/keyv/drivers/sql-adapter.js'
import { type ListedRow, ownerColumn, sqlPage } from '../../src/stores/keyv/drivers/sql-listing.js'
import { decodeText, encodeText } from '../../src/stores/keyv/drivers/text-escapes.js'
import { piecesOf, type TextPiece, textsOf } from '../../src/stores/keyv/drivers/text-pieces.js'
import * as statements from './d1-statements.js'

/** The used part of a prepared statement of D1. */
export interface D1StatementLike {
  /** The statement with the values of its parameters. */
  bind(...values: unknown[]): D1StatementLike
}

/** The used part of a D1 database, as a Worker's binding provides it. */
export interface D1DatabaseLike {
  /** Prepares a statement of SQL. */
  prepare(query: string): D1StatementLike
  /** Runs the statements in one transaction. */
  batch(statements: D1StatementLike[]): Promise<readonly { readonly results: readonly unknown[] }[]>
}

/** A statement and its values. */
type Query = readonly [statement: string, ...values: unknown[]]

/** A row of the statements that read a session. */
interface HeadRow {
  readonly revision: string
  readonly head: string
}

/** A piece of a head, after the first. */
type HeadPiece = TextPiece & { readonly session_id: number }

/** The most sessions in a page, whatever the caller asks for: their heads are in memory at the same time. */
const mostListed = 100
/** Sessions or claims that one statement removes. */
const purgedAtOnce = 100

/** The driver over a database. It creates the tables if a statement does not find them. */
export class D1Driver implements SessionDriver {
  readonly guarantees: SessionDriver['guarantees'] = { compareAndSwap: 'backend', durable: true }
  readonly #database: D1DatabaseLike

  constructor(database: D1DatabaseLike) {
    this.#database = database
  }

  async read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined> {
    const known = knownRevision === undefined ? null : encodeText(knownRevision)
    const texts: Query = [statements.readSomeTexts, encodeText(key), known, JSON.stringify(chunks)]
    const found = await this.#read(key, known, texts)
    return found && { ...found, chunks: chunks.map((name) => found.chunks.get(name)) }
  }

  readAll(key: string): Promise<StoredSession | undefined> {
    return this.#read(key, null, [statements.readAllTexts, encodeText(key), null])
  }

  async swap(swap: SessionSwap): Promise<SwapOutcome> {
    const owner = swap.expectedRevision === undefined ? await swap.owner?.() : undefined
    const [stored] = (await this.#run(...writesOf(swap, owner))).at(-1) as HeadRow[]
    return stored?.revision === encodeText(swap.revision) ? 'done' : 'conflict'
  }

  async remove(key: string, expectedRevision?: string): Promise<SwapOutcome> {
    const kept = encodeText(key)
    const expected = expectedRevision === undefined ? null : encodeText(expectedRevision)
    const [, , left] = await this.#run(
      [statements.remove, kept, expected],
      [statements.mark, kept, removalMarkMs],
      [statements.readRevision, kept],
    )
    return left?.length === 0 ? 'done' : 'conflict'
  }

  async isRemoved(key: string): Promise<boolean> {
    const [rows] = await this.#run([statements.readMark, encodeText(key)])
    return rows?.length === 1
  }

  async purgeExpired(): Promise<number> {
    await this.#purge(statements.purgeClaims)
    return this.#purge(statements.purgeSessions)
  }

  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    const kept = encodeText(key)
    const [, rows] = await this.#run(
      [statements.claim, kept, encodeText(sessionId), Math.ceil(ttlMs)],
      [statements.readClaim, kept],
    )
    return claimedId(rows ?? [])
  }

  async isOwnedBy(key: string, ownerKey: string): Promise<boolean> {
    const [rows] = await this.#run([statements.readOwned, encodeText(key), encodeText(ownerKey)])
    return rows?.length === 1
  }

  list(listing: SessionListing): ReturnType<NonNullable<SessionDriver['list']>> {
    return sqlPage(
      {
        rows: (after, limit) => this.#readHeads(undefined, after, limit),
        ownedRows: (ownerKey, after, limit) => this.#readHeads(ownerKey, after, limit),
      },
      { ...listing, limit: Math.min(listing.limit, mostListed) },
    )
  }

  async close(): Promise<void> {}

  async #read(key: string, known: string | null, texts: Query): Promise<StoredSession | undefined> {
    const [rows, pieces] = await this.#run([statements.readHead, encodeText(key), known], texts)
    const [row] = rows as HeadRow[]
    if (row === undefined) return undefined
    const chunks = textsOf(pieces as TextPiece[])
    const head = `${row.head}${chunks.get('head') ?? ''}`
    chunks.delete('head')
    return { revision: decodeText(row.revision), head, chunks }
  }

  async #readHeads(ownerKey: string | undefined, after: string, limit: number): Promise<ListedRow[]> {
    const owner = ownerKey === undefined ? [] : [ownerKey]
    const [found] = await this.#run([statements.listHeads(ownerKey), after, limit, ...owner])
    const rows = found as ListedRow[]
    const [pieces] = await this.#run([statements.readHeads, JSON.stringify(rows.map(({ id }) => id))])
    const rest = textsOf((pieces as HeadPiece[]).map((piece) => ({ ...piece, name: String(piece.session_id) })))
    return rows.map((row) => ({ ...row, head: `${row.head}${rest.get(String(row.id)) ?? ''}` }))
  }

  #purge(statement: string): Promise<number> {
    return purgeAll(async (most) => (await this.#run([statement, most]))[0] ?? [], purgedAtOnce)
  }

  /** The rows of each statement, all of them in one transaction. */
  async #run(...queries: readonly Query[]): Promise<(readonly unknown[])[]> {
    const results = await this.#batch(queries).catch(async (error: unknown) => {
      if (!/no such table: turnkeeper_/.test(String(error))) throw error
      await this.#batch(statements.createTables.map((statement) => [statement]))
      return this.#batch(queries)
    })
    return results.map((result) => result.results)
  }

  async #batch(queries: readonly Query[]): ReturnType<D1DatabaseLike['batch']> {
    const database = this.#database
    return database.batch(queries.map(([statement, ...values]) => database.prepare(statement).bind(...values)))
  }
}

/** The statements of a swap. The last one reads the outcome. */
function writesOf(swap: SessionSwap, owner: SessionOwner | undefined): Query[] {
  const { expectedRevision, replacesChunks, ttlMs = null, expiresBy = null } = swap
  const key = encodeText(swap.key)
  const attempt = crypto.randomUUID()
  const [head = '', ...rest] = piecesOf('head', swap.head).map(({ body }) => body)
  const row = [key, encodeText(swap.revision), attempt, ttlMs, expiresBy]
  const chunks = swap.chunks.flatMap(([name, text]) => piecesOf(name, text))
  // The first piece of a head is in the row of its session.
  const texts = [...rest.map((body, index) => ({ name: 'head', part: index + 1, body })), ...chunks]
  const replaced = JSON.stringify([...swap.removed, ...swap.chunks.map(([name]) => name)])
  const replacesAll = replacesChunks || expectedRevision === undefined
  const queries: Query[] = [
    expectedRevision === undefined
      ? [statements.insert, ...row, ownerColumn(owner), head]
      : [statements.update, ...row, head, encodeText(expectedRevision)],
    replacesAll ? [statements.removeAllTexts, key, attempt] : [statements.removeSomeTexts, key, attempt, replaced],
  ]
  for (let start = 0; start < texts.length; start += statements.mostTexts) {
    const some = texts.slice(start, start + statements.mostTexts)
    const values = some.flatMap(({ name, part, body }) => [name, part, body])
    queries.push([statements.insertTexts(some.length), key, attempt, ...values])
  }
  return [...queries, [statements.readOutcome, key, attempt]]
}
