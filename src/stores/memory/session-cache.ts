/**
 * The sessions of a memory store: so many, of so many bytes, for so long. Beyond a bound the session used longest ago
 * is evicted. A session that a turn holds is kept beside the cache, where it is not counted, is not evicted and does
 * not expire, unless it has reached its greatest age.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, monotonicTime } from '../../config/clock.js'
import type { SessionDocument } from '../../session/session-document.js'
import { heapBytes } from './heap-bytes.js'

/** What {@link SessionCache} needs. */
export interface SessionCacheOptions {
  readonly maxSessions: number
  readonly maxBytes: number
  /** Milliseconds since it was set last; `Infinity`: for ever. */
  readonly ttlMs: number
  /** Milliseconds since it was set first; `Infinity`: for ever. */
  readonly absoluteTtlMs: number
  readonly clock: Clock
  /** Called with each session that was evicted, after it was. */
  readonly onEvicted: (sessionId: string) => void
}

interface StoredSession {
  readonly document: SessionDocument
  /** About how many bytes of memory it takes. */
  readonly bytes: number
  /** In the clock's monotonic time: what is stored does not outlive the process. */
  readonly expiresAt: number
  /** The same, at the latest: no later document of the session has another. */
  readonly endsAt: number
}

interface HeldSession {
  /** `undefined` where nothing is stored under the ID. */
  stored: StoredSession | undefined
  holders: number
}

/** Sessions by ID, bounded. */
export class SessionCache {
  readonly #options: SessionCacheOptions
  readonly #maxBytes: number
  readonly #cache: LRUCache<string, StoredSession>
  readonly #held = new Map<string, HeldSession>()

  constructor(options: SessionCacheOptions) {
    this.#options = options
    this.#maxBytes = Math.min(Math.ceil(options.maxBytes), Number.MAX_SAFE_INTEGER)
    // Without `max`, which would reserve room for so many sessions at once.
    this.#cache = new LRUCache({
      maxSize: this.#maxBytes,
      disposeAfter: ({ expiresAt }, sessionId, reason) => {
        if (reason === 'evict' && expiresAt > monotonicTime(options.clock)) options.onEvicted(sessionId)
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

  /** What is stored. It is not used by that: its place in the order stays. */
  *entries(): IterableIterator<[sessionId: string, document: SessionDocument]> {
    const now = monotonicTime(this.#options.clock)
    for (const [sessionId, held] of this.#held) {
      const stored = this.#storedOf(held)
      if (stored !== undefined) yield [sessionId, stored.document]
    }
    for (const [sessionId, { document, expiresAt }] of this.#cache.entries()) {
      if (expiresAt > now) yield [sessionId, document]
    }
  }

  /** Keeps a session, stored or not yet, until the returned function is called. */
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

  /** What is stored of a session that is held: it does not expire meanwhile, but it ends. */
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

  /** Drops sessions that expired, beginning with the one used longest ago, up to the first that did not. */
  #dropExpired(): void {
    const { clock, ttlMs, absoluteTtlMs } = this.#options
    if (Math.min(ttlMs, absoluteTtlMs) === Number.POSITIVE_INFINITY) return
    const now = monotonicTime(clock)
    const isOldestExpired = (): boolean => (this.#cache.rvalues().next().value?.expiresAt ?? now + 1) <= now
    while (isOldestExpired()) this.#cache.pop()
  }

  #keep(sessionId: string, stored: StoredSession): void {
    this.#dropExpired()
    // The cache silently drops what is larger than all of it: such a session counts as large as that, and
    // stays until another comes.
    const size = Math.min(stored.bytes, this.#maxBytes)
    this.#cache.set(sessionId, stored, { size })
    while (this.#cache.size > Math.max(1, this.#options.maxSessions)) this.#cache.pop()
  }
}
