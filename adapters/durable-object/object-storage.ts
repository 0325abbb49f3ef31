/**
 * The storage of one Durable Object, in its own SQLite database: one session as a head and chunks, or one claim.
 * Everything here is synchronous, so no other request comes between a read and a write.
 */

import { removalMarkMs, type SwapOutcome } from '../../src/stores/keyv/driver/session-driver.js'
import { decodeText, encodeText } from '../../src/stores/keyv/drivers/text-escapes.js'
import { piecesOf, type TextPiece, textsOf } from '../../src/stores/keyv/drivers/text-pieces.js'
import type { ObjectSwap, ObjectTexts } from './protocol.js'

/** The used part of a Durable Object's SQL interface. */
export interface SqlStorageLike {
  /** Runs a statement of SQL. */
  exec(
    query: string,
    ...bindings: (string | number | null)[]
  ): {
    /** The rows that it returns. */
    // biome-ignore lint/suspicious/noExplicitAny: as the platform declares the rows.
    toArray(): any[]
  }
}

/** The used part of a Durable Object's storage. */
export interface DurableObjectStorageLike {
  readonly sql: SqlStorageLike
  /** Runs work whose statements take effect together, or not at all if it throws. */
  transactionSync<T>(work: () => T): T
  /** Sets the alarm that wakes the object, in milliseconds since 1970. */
  setAlarm(time: number): Promise<void>
  /** Cancels the alarm. */
  deleteAlarm(): Promise<void>
  /** Deletes everything. */
  deleteAll(): Promise<void>
}

/** The row that describes the session or the claim. */
interface Entry {
  /** The revision of a session, the session ID that a claim holds, or {@link mark}. */
  readonly token: string
  /** `null`: never. */
  readonly expires_at: number | null
  /** The time of the alarm. `null`: none. */
  readonly alarm_at: number | null
}

/** The token of a removed session. */
const mark = ''

/** The storage of one object. */
export class ObjectStorage {
  readonly #storage: DurableObjectStorageLike
  /** `undefined`: not read yet. An object of an unknown ID creates no tables, because they would stay. */
  #hasTables: boolean | undefined

  constructor(storage: DurableObjectStorageLike) {
    this.#storage = storage
  }

  /** The head and some chunks. @param names - Default: all chunks. */
  read(names?: readonly string[], knownRevision?: string): ObjectTexts | undefined {
    const entry = this.#live()
    if (entry === undefined || entry.token === mark) return undefined
    const revision = decodeText(entry.token)
    if (revision === knownRevision) return { revision, head: '', chunks: [] }
    const query = 'SELECT name, part, body FROM text'
    const pieces =
      names === undefined
        ? this.#rows(`${query} ORDER BY name, part`)
        : this.#rows(
            `${query} WHERE name IN (SELECT value FROM json_each(?)) ORDER BY name, part`,
            JSON.stringify(['head', ...names]),
          )
    const texts = textsOf(pieces as TextPiece[])
    const head = texts.get('head') ?? ''
    texts.delete('head')
    return { revision, head, chunks: [...texts] }
  }

  swap(swap: ObjectSwap): SwapOutcome {
    const stored = this.#live()?.token
    const revision = encodeText(swap.revision)
    if (stored === revision) return 'done'
    if (stored === mark) return 'conflict'
    if (stored !== (swap.expectedRevision === undefined ? undefined : encodeText(swap.expectedRevision)))
      return 'conflict'
    const ttlAt = swap.ttlMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + swap.ttlMs
    const expiresAt = Math.min(ttlAt, swap.expiresBy ?? Number.POSITIVE_INFINITY)
    this.#keep(revision, expiresAt, () => this.#changeTexts(swap, stored === undefined))
    return 'done'
  }

  /** Leaves a mark in place of the session. A mark that is there stays as it is. */
  remove(expectedRevision?: string): SwapOutcome {
    const stored = this.#live()?.token
    if (stored === mark) return 'done'
    if (stored !== undefined && expectedRevision !== undefined && stored !== encodeText(expectedRevision)) {
      return 'conflict'
    }
    this.#keep(mark, Date.now() + removalMarkMs, () => this.#rows('DELETE FROM text'))
    return 'done'
  }

  /** Whether a mark is stored. */
  isRemoved(): boolean {
    return this.#live()?.token === mark
  }

  /** The claimed session ID: this one, or an earlier one. */
  claim(sessionId: string, ttlMs: number): string {
    const kept = this.#live()?.token
    if (kept !== undefined) return decodeText(kept)
    this.#keep(encodeText(sessionId), Date.now() + Math.ceil(ttlMs), () => undefined)
    return sessionId
  }

  /** Deletes an expired entry. An entry that was saved since the alarm was set gets a new alarm. */
  async wake(): Promise<void> {
    const entry = this.#entry()
    if (entry === undefined) return
    const { expires_at: expiresAt } = entry
    if (expiresAt !== null && expiresAt <= Date.now()) return this.#removeAll()
    this.#rows('UPDATE entry SET alarm_at = ?', expiresAt)
    if (expiresAt !== null) await this.#storage.setAlarm(expiresAt)
  }

  #entry(): Entry | undefined {
    this.#hasTables ??= this.#rows("SELECT 1 FROM sqlite_master WHERE name = 'entry'").length > 0
    return this.#hasTables ? (this.#rows('SELECT token, expires_at, alarm_at FROM entry')[0] as Entry) : undefined
  }

  #live(): Entry | undefined {
    const entry = this.#entry()
    return entry === undefined || (entry.expires_at ?? Number.POSITIVE_INFINITY) <= Date.now() ? undefined : entry
  }

  /** Stores the entry, the writes of `work` and the alarm together. */
  #keep(token: string, expiresAt: number, work: () => void): void {
    const expiry = Number.isFinite(expiresAt) ? expiresAt : null
    const alarmAt = this.#entry()?.alarm_at ?? null
    // An alarm that fires too early is set again then, so most turns need not touch it.
    const isSet = expiry === null || (alarmAt !== null && alarmAt <= expiry)
    this.#storage.transactionSync(() => {
      this.#createTables()
      const values = [token, expiry, isSet ? alarmAt : expiry]
      this.#rows('INSERT OR REPLACE INTO entry (id, token, expires_at, alarm_at) VALUES (1, ?, ?, ?)', ...values)
      work()
    })
    this.#hasTables = true
    // The platform writes changes without an `await` between them atomically, and holds the reply until they are
    // durable.
    if (!isSet) void this.#storage.setAlarm(expiry)
  }

  #createTables(): void {
    if (this.#hasTables) return
    this.#rows(`CREATE TABLE entry (id INTEGER PRIMARY KEY, token TEXT NOT NULL, expires_at INTEGER, alarm_at INTEGER)`)
    this.#rows(
      `CREATE TABLE text (name TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (name, part)) WITHOUT ROWID`,
    )
  }

  #changeTexts({ head, chunks, removed, replacesChunks }: ObjectSwap, isNew: boolean): void {
    const replaced = ['head', ...removed, ...chunks.map(([name]) => name)]
    if (isNew || replacesChunks) this.#rows('DELETE FROM text')
    else this.#rows('DELETE FROM text WHERE name IN (SELECT value FROM json_each(?))', JSON.stringify(replaced))
    for (const [name, text] of [['head', head] as const, ...chunks]) {
      for (const { part, body } of piecesOf(name, text)) {
        this.#rows('INSERT INTO text (name, part, body) VALUES (?, ?, ?)', name, part, body)
      }
    }
  }

  /** An empty object costs nothing, but its tables would. */
  async #removeAll(): Promise<void> {
    this.#hasTables = false
    await Promise.all([this.#storage.deleteAlarm(), this.#storage.deleteAll()])
  }

  #rows(query: string, ...bindings: (string | number | null)[]): unknown[] {
    return this.#storage.sql.exec(query, ...bindings).toArray()
  }
}
