/**
 * A map of sessions that holds so many, for so long: beyond the bound the one used longest ago is dropped, and after
 * its time a session is gone. A session that a turn holds is neither. It keeps no timer; it asks the clock.
 */
import type { Clock } from '../config/clock.js'

/** What {@link BoundedSessions} needs. */
export interface BoundedSessionsOptions<T> {
  readonly maxSessions: number
  /** Milliseconds since it was set last; `Infinity`: for ever. */
  readonly ttlMs: number
  readonly clock: Clock
  /** Called with each session that was dropped, after it was. */
  readonly onDropped: (sessionId: string, value: T) => void
}

interface Entry<T> {
  readonly sessionId: string
  /** `undefined` for a session that is held and not stored. */
  value: T | undefined
  expiresAt: number
  /** How many turns hold it. */
  holders: number
  older: Entry<T> | undefined
  newer: Entry<T> | undefined
}

/** Sessions by ID, bounded. */
export class BoundedSessions<T> {
  readonly #options: BoundedSessionsOptions<T>
  readonly #entries = new Map<string, Entry<T>>()
  #stored = 0
  /**
   * A chain of those that may be dropped: stored, and held by nobody. A Map that keeps the order by itself would have to
   * be written anew with each use, and leaves its former tables to the garbage collector.
   */
  #oldest: Entry<T> | undefined
  #newest: Entry<T> | undefined

  constructor(options: BoundedSessionsOptions<T>) {
    this.#options = options
  }

  get(sessionId: string): T | undefined {
    const entry = this.#entries.get(sessionId)
    if (entry?.value === undefined) return undefined
    if (entry.holders > 0) return entry.value
    if (entry.expiresAt <= this.#options.clock.now()) {
      this.#drop(entry)
      return undefined
    }
    this.#unlink(entry)
    this.#append(entry)
    return entry.value
  }

  set(sessionId: string, value: T): void {
    const { clock, ttlMs } = this.#options
    const entry = this.#entry(sessionId)
    if (entry.value === undefined) this.#stored++
    else if (entry.holders === 0) this.#unlink(entry)
    entry.value = value
    entry.expiresAt = clock.now() + ttlMs
    if (entry.holders === 0) this.#append(entry)
    this.#trim(entry)
  }

  delete(sessionId: string): boolean {
    const entry = this.#entries.get(sessionId)
    if (entry?.value === undefined) return false
    this.#remove(entry)
    return true
  }

  /** Keeps a session, stored or not yet, until the returned function is called. */
  hold(sessionId: string): () => void {
    // A session whose time is over goes now: to be held does not bring it back.
    this.get(sessionId)
    const entry = this.#entry(sessionId)
    if (entry.value !== undefined && entry.holders === 0) this.#unlink(entry)
    entry.holders++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      entry.holders--
      if (entry.holders > 0) return
      if (entry.value === undefined) this.#entries.delete(sessionId)
      else this.#append(entry)
      this.#trim()
    }
  }

  #entry(sessionId: string): Entry<T> {
    let entry = this.#entries.get(sessionId)
    if (entry === undefined) {
      entry = { sessionId, value: undefined, expiresAt: 0, holders: 0, older: undefined, newer: undefined }
      this.#entries.set(sessionId, entry)
    }
    return entry
  }

  /** `justSet` stays, even where all others are held. */
  #trim(justSet?: Entry<T>): void {
    while (this.#stored > this.#options.maxSessions && this.#oldest !== undefined && this.#oldest !== justSet) {
      this.#drop(this.#oldest)
    }
  }

  #drop(entry: Entry<T>): void {
    const value = entry.value as T
    this.#remove(entry)
    this.#options.onDropped(entry.sessionId, value)
  }

  #remove(entry: Entry<T>): void {
    this.#stored--
    entry.value = undefined
    if (entry.holders > 0) return
    this.#unlink(entry)
    this.#entries.delete(entry.sessionId)
  }

  #append(entry: Entry<T>): void {
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest === undefined) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink(entry: Entry<T>): void {
    const { older, newer } = entry
    if (older === undefined) this.#oldest = newer
    else older.newer = newer
    if (newer === undefined) this.#newest = older
    else newer.older = older
    entry.older = undefined
    entry.newer = undefined
  }
}
