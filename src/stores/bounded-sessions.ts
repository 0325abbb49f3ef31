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
  readonly value: T
  readonly expiresAt: number
}

/** Sessions by ID, bounded. */
export class BoundedSessions<T> {
  readonly #options: BoundedSessionsOptions<T>
  /** Used longest ago first: a Map keeps the order of insertion, and what is used is inserted anew. */
  readonly #entries = new Map<string, Entry<T>>()
  /** How many turns hold a session. */
  readonly #held = new Map<string, number>()
  /** Stands behind the sessions that were looked at already: starting over each time would pass by all that are gone. */
  #oldest: Iterator<string> = this.#entries.keys()

  constructor(options: BoundedSessionsOptions<T>) {
    this.#options = options
  }

  get(sessionId: string): T | undefined {
    const entry = this.#entries.get(sessionId)
    if (entry === undefined) return undefined
    if (entry.expiresAt <= this.#options.clock.now() && !this.#held.has(sessionId)) {
      this.#drop(sessionId, entry)
      return undefined
    }
    this.#use(sessionId, entry)
    return entry.value
  }

  set(sessionId: string, value: T): void {
    const { clock, ttlMs } = this.#options
    this.#use(sessionId, { value, expiresAt: clock.now() + ttlMs })
    this.#trim(sessionId)
  }

  delete(sessionId: string): boolean {
    return this.#entries.delete(sessionId)
  }

  /** Keeps a session, stored or not yet, until the returned function is called. */
  hold(sessionId: string): () => void {
    this.#held.set(sessionId, (this.#held.get(sessionId) ?? 0) + 1)
    let held = true
    return () => {
      if (!held) return
      held = false
      const holders = (this.#held.get(sessionId) as number) - 1
      if (holders > 0) {
        this.#held.set(sessionId, holders)
        return
      }
      this.#held.delete(sessionId)
      const entry = this.#entries.get(sessionId)
      if (entry !== undefined) this.#use(sessionId, entry)
      this.#trim()
    }
  }

  #use(sessionId: string, entry: Entry<T>): void {
    this.#entries.delete(sessionId)
    this.#entries.set(sessionId, entry)
  }

  /** `justSet` stays, even where all others are held. */
  #trim(justSet?: string): void {
    let restarted = false
    while (this.#entries.size > this.#options.maxSessions) {
      const { value: sessionId, done } = this.#oldest.next()
      if (done === true) {
        // Whoever is left is held: they go when they are let go.
        if (restarted) return
        restarted = true
        this.#oldest = this.#entries.keys()
      } else if (sessionId !== justSet && !this.#held.has(sessionId)) {
        this.#drop(sessionId, this.#entries.get(sessionId) as Entry<T>)
      }
    }
  }

  #drop(sessionId: string, entry: Entry<T>): void {
    this.#entries.delete(sessionId)
    this.#options.onDropped(sessionId, entry.value)
  }
}
