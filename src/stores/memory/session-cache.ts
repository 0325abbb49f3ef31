/**
 * The sessions of a memory store, with limits on their number, their bytes and their age. Above a limit the least
 * recently used session is evicted. A session that a turn holds is kept outside the cache: it is not counted, not
 * evicted, and does not expire before its absolute age limit.
 */
import { type Clock, monotonicTime } from '../../config/clock.js'
import type { SessionDocument } from '../../session/session-document.js'
import { BoundedMap } from '../bounded-map/bounded-map.js'
import { heapBytes } from './heap-bytes.js'

/** What {@link SessionCache} needs. */
export interface SessionCacheOptions {
  readonly maxSessions: number
  readonly maxBytes: number
  /** Milliseconds that a session is kept after it was last set; `Infinity`: for ever. */
  readonly ttlMs: number
  /** Milliseconds that a session is kept after it was first set; `Infinity`: for ever. */
  readonly absoluteTtlMs: number
  readonly clock: Clock
  /** Called after a session was evicted. */
  readonly onEvicted: (sessionId: string) => void
}

interface StoredSession {
  readonly document: SessionDocument
  /** About how many bytes of memory it takes. */
  readonly bytes: number
  /** In the clock's monotonic time, because no session outlives the process. */
  readonly expiresAt: number
  /** The latest possible `expiresAt`. It is the same for every document of the session. */
  readonly endsAt: number
}

interface HeldSession {
  /** `undefined` if nothing is stored under the ID. */
  stored: StoredSession | undefined
  holders: number
}

/** Sessions by ID, within limits. */
export class SessionCache {
  readonly #options: SessionCacheOptions
  readonly #cache: BoundedMap<string, StoredSession>
  readonly #held = new Map<string, HeldSession>()

  constructor(options: SessionCacheOptions) {
    this.#options = options
    this.#cache = new BoundedMap({
      maxEntries: Math.max(1, options.maxSessions),
      maxSize: options.maxBytes,
      onEvicted: (sessionId, { expiresAt }) => {
        if (expiresAt > monotonicTime(options.clock)) options.onEvicted(sessionId)
      },
    })
  }

  get(sessionId: string): SessionDocument | undefined {
    const held = this.#held.get(sessionId)
    return (held === undefined ? this.#unexpired(sessionId) : this.#storedOf(held))?.document
  }

  /** @param stateBytes - About how many bytes the context and the states take as JSON. Default: they are measured. */
  set(sessionId: string, document: SessionDocument, stateBytes?: number): void {
    const { clock, ttlMs, absoluteTtlMs } = this.#options
    const now = monotonicTime(clock)
    const held = this.#held.get(sessionId)
    const before = held === undefined ? this.#cache.peek(sessionId) : held.stored
    const isSame = before?.document.createdAt === document.createdAt
    const endsAt = before !== undefined && isSame ? before.endsAt : now + absoluteTtlMs
    const bytes = heapBytes(document, stateBytes)
    const stored = { document, bytes, endsAt, expiresAt: Math.min(now + ttlMs, endsAt) }
    if (held === undefined) this.#keep(sessionId, stored)
    else held.stored = stored
  }

  delete(sessionId: string): boolean {
    const held = this.#held.get(sessionId)
    if (held === undefined) return this.#cache.delete(sessionId)
    const wasStored = this.#storedOf(held) !== undefined
    held.stored = undefined
    return wasStored
  }

  /** Every stored session. Does not count as a use, so the order of eviction stays the same. */
  *entries(): IterableIterator<[sessionId: string, document: SessionDocument]> {
    const now = monotonicTime(this.#options.clock)
    for (const [sessionId, held] of this.#held) {
      const stored = this.#storedOf(held)
      if (stored !== undefined) yield [sessionId, stored.document]
    }
    for (const [sessionId, { document, expiresAt }] of this.#cache) {
      if (expiresAt > now) yield [sessionId, document]
    }
  }

  /** Keeps a session until the returned function is called, even if it is not stored yet. */
  hold(sessionId: string): () => void {
    const held = this.#held.get(sessionId) ?? { stored: this.#unexpired(sessionId), holders: 0 }
    if (held.holders === 0) {
      this.#held.set(sessionId, held)
      this.#cache.delete(sessionId)
    }
    held.holders++
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      held.holders--
      if (held.holders > 0) return
      this.#held.delete(sessionId)
      const stored = this.#storedOf(held)
      if (stored !== undefined) this.#keep(sessionId, stored)
    }
  }

  /** The stored document of a held session. While held, it expires only when it reaches its absolute age limit. */
  #storedOf(held: HeldSession): StoredSession | undefined {
    if (held.stored !== undefined && held.stored.endsAt <= monotonicTime(this.#options.clock)) held.stored = undefined
    return held.stored
  }

  #unexpired(sessionId: string): StoredSession | undefined {
    const stored = this.#cache.get(sessionId)
    if (stored === undefined || stored.expiresAt > monotonicTime(this.#options.clock)) return stored
    this.#cache.delete(sessionId)
    return undefined
  }

  /** Drops expired sessions, beginning with the least recently used one, until it finds one that has not expired. */
  #dropExpired(): void {
    const { clock, ttlMs, absoluteTtlMs } = this.#options
    if (Math.min(ttlMs, absoluteTtlMs) === Number.POSITIVE_INFINITY) return
    const now = monotonicTime(clock)
    this.#cache.deleteOldestWhile(({ expiresAt }) => expiresAt <= now)
  }

  #keep(sessionId: string, stored: StoredSession): void {
    this.#dropExpired()
    // A session that is larger than the whole cache counts as large as the cache: it stays until the next one is
    // stored.
    this.#cache.set(sessionId, stored, Math.min(stored.bytes, this.#options.maxBytes))
  }
}
