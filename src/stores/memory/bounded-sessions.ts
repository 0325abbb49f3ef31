/**
 * A map of sessions that holds so many, for so long: beyond the bound the one used longest ago is dropped, and after
 * its time a session is gone. A session that a turn holds is neither. It keeps no timer; it asks the clock.
 */
import type { Clock } from '../../config/clock.js'
import { type Linked, LinkedList } from '../../util/linked-list.js'

/** What {@link BoundedSessions} needs. */
export interface BoundedSessionsOptions<T> {
  readonly maxSessions: number
  /** Milliseconds since it was set last; `Infinity`: for ever. */
  readonly ttlMs: number
  readonly clock: Clock
  /** Called with each session that was dropped, after it was. */
  readonly onDropped: (sessionId: string, value: T) => void
}

interface Entry<T> extends Linked<Entry<T>> {
  readonly sessionId: string
  /** `undefined` for a session that is held and not stored. */
  value: T | undefined
  expiresAt: number
  /** How many turns hold it. */
  holders: number
}

/** Sessions by ID, bounded. */
export class BoundedSessions<T> {
  readonly #options: BoundedSessionsOptions<T>
  readonly #entries = new Map<string, Entry<T>>()
  #stored = 0
  /**
   * Those that may be dropped (stored, and held by nobody), the one used longest ago first. A Map that keeps the order
   * by itself would have to be written anew with each use, and leaves its former tables to the garbage collector.
   */
  readonly #droppable = new LinkedList<Entry<T>>()

  constructor(options: BoundedSessionsOptions<T>) {
    this.#options = options
  }

  /** How many sessions are stored. */
  get size(): number {
    return this.#stored
  }

  get(sessionId: string): T | undefined {
    const entry = this.#entries.get(sessionId)
    if (entry?.value === undefined) return undefined
    if (entry.holders > 0) return entry.value
    if (entry.expiresAt <= this.#options.clock.now()) {
      this.#drop(entry)
      return undefined
    }
    this.#droppable.remove(entry)
    this.#droppable.append(entry)
    return entry.value
  }

  set(sessionId: string, value: T): void {
    const { clock, ttlMs } = this.#options
    const entry = this.#entry(sessionId)
    if (entry.value === undefined) this.#stored++
    else this.#droppable.remove(entry)
    entry.value = value
    entry.expiresAt = clock.now() + ttlMs
    if (entry.holders === 0) this.#droppable.append(entry)
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
    this.#droppable.remove(entry)
    entry.holders++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      entry.holders--
      if (entry.holders > 0) return
      if (entry.value === undefined) this.#entries.delete(sessionId)
      else this.#droppable.append(entry)
      this.#trim()
    }
  }

  #entry(sessionId: string): Entry<T> {
    let entry = this.#entries.get(sessionId)
    if (entry === undefined) {
      entry = { sessionId, value: undefined, expiresAt: 0, holders: 0, previous: undefined, next: undefined }
      this.#entries.set(sessionId, entry)
    }
    return entry
  }

  /** `justSet` stays, even where all others are held. */
  #trim(justSet?: Entry<T>): void {
    while (this.#stored > this.#options.maxSessions) {
      const oldest = this.#droppable.first
      if (oldest === undefined || oldest === justSet) return
      this.#drop(oldest)
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
    this.#droppable.remove(entry)
    this.#entries.delete(entry.sessionId)
  }
}
