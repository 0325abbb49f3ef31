/**
 * What one Durable Object stores, in its own SQLite database: one session as a head and chunks, or one claim.
 * Everything here is synchronous, so no other request comes between a read and a write.
 */

import type { SwapOutcome } from '../../src/stores/keyv/driver/session-driver.js'
import { decodeText, encodeText } from '../../src/stores/keyv/drivers/text-escapes.js'
import { piecesOf, type TextPiece, textsOf } from '../../src/stores/keyv/drivers/text-pieces.js'
import type { ObjectSwap, ObjectTexts } from './protocol.js'

/** What is used of the SQL of a Durable Object. */
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

/** What is used of the storage of a Durable Object. */
export interface DurableObjectStorageLike {
  readonly sql: SqlStorageLike
  /** Runs work whose statements take effect together, or not at all where it throws. */
  transactionSync<T>(work: () => T): T
  /** Has the object woken at a time, in milliseconds since 1970. */
  setAlarm(time: number): Promise<void>
  /** Takes the alarm back. */
  deleteAlarm(): Promise<void>
  /** Removes all that is stored. */
  deleteAll(): Promise<void>
}

/** What is said of the session, or of the claim. */
interface Entry {
  /** The revision of a session; of a claim, the ID of the session that is kept. */
  readonly token: string
  /** `null`: never. */
  readonly expires_at: number | null
  /** When the object is woken. `null`: never. */
  readonly alarm_at: number | null
}

/** The storage of one object. */
export class ObjectStorage {
  readonly #storage: DurableObjectStorageLike
  /** `undefined`: nobody has looked. An object of an unknown ID makes no tables, because it would keep them. */
  #hasTables: boolean | undefined

  constructor(storage: DurableObjectStorageLike) {
    this.#storage = storage
  }

  /** The head and some chunks. @param names - Default: all chunks. */
  read(names?: readonly string[], knownRevision?: string): ObjectTexts | undefined {
    const entry = this.#live()
    if (entry === undefined) return undefined
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
    if (stored !== (swap.expectedRevision === undefined ? undefined : encodeText(swap.expectedRevision)))
      return 'conflict'
    const ttlAt = swap.ttlMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + swap.ttlMs
    const expiresAt = Math.min(ttlAt, swap.expiresBy ?? Number.POSITIVE_INFINITY)
    this.#keep(revision, expiresAt, () => this.#changeTexts(swap, stored === undefined))
    return 'done'
  }

  async remove(expectedRevision?: string): Promise<SwapOutcome> {
    const stored = this.#live()?.token
    if (stored !== undefined && expectedRevision !== undefined && stored !== encodeText(expectedRevision)) {
      return 'conflict'
    }
    if (this.#hasTables) await this.#removeAll()
    return 'done'
  }

  /** The ID that is kept from now on, or was before. */
  claim(sessionId: string, ttlMs: number): string {
    const kept = this.#live()?.token
    if (kept !== undefined) return decodeText(kept)
    this.#keep(encodeText(sessionId), Date.now() + Math.ceil(ttlMs), () => undefined)
    return sessionId
  }

  /** Removes what has expired. What was saved since the alarm was set gets another one. */
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

  /** Stores the entry, and what else `work` stores, together with the alarm. */
  #keep(token: string, expiresAt: number, work: () => void): void {
    const expiry = Number.isFinite(expiresAt) ? expiresAt : null
    const alarmAt = this.#entry()?.alarm_at ?? null
    // One that comes too early is set again when it fires, so most turns need not touch it.
    const isSet = expiry === null || (alarmAt !== null && alarmAt <= expiry)
    this.#storage.transactionSync(() => {
      this.#createTables()
      const values = [token, expiry, isSet ? alarmAt : expiry]
      this.#rows('INSERT OR REPLACE INTO entry (id, token, expires_at, alarm_at) VALUES (1, ?, ?, ?)', ...values)
      work()
    })
    this.#hasTables = true
    // Storage writes what is changed without a pause at once; the reply waits for it.
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

  /** An object that stores nothing costs nothing, and its tables would be something. */
  async #removeAll(): Promise<void> {
    this.#hasTables = false
    await Promise.all([this.#storage.deleteAlarm(), this.#storage.deleteAll()])
  }

  #rows(query: string, ...bindings: (string | number | null)[]): unknown[] {
    return this.#storage.sql.exec(query, ...bindings).toArray()
  }
}
