/**
 * Claims in the memory of this process, for the memory store and for a Keyv over a Map. They belong to the data, so two
 * stores over the same data share them.
 */

/** The entry under a key. */
interface Claim {
  readonly sessionId: string
  /** In milliseconds of the caller's clock. */
  readonly expiresAt: number
}

/** The default limit; above it the oldest claim is dropped. */
const defaultMaxClaims = 10_000

/** The claims of each collection of sessions, such as a Map. */
const claimsByData = new WeakMap<object, MemoryClaims>()

/** Session IDs by key: a limited number, each for a limited time. */
export class MemoryClaims {
  readonly #maxClaims: number
  /** Oldest first. */
  readonly #claims = new Map<string, Claim>()

  /** @param maxClaims - If there are more, the oldest is dropped. Default 10 000. */
  constructor(maxClaims: number = defaultMaxClaims) {
    this.#maxClaims = Math.max(1, maxClaims)
  }

  /** The claims that belong to `data`, created on the first call. */
  static of(data: object, maxClaims?: number): MemoryClaims {
    const claims = claimsByData.get(data) ?? new MemoryClaims(maxClaims)
    claimsByData.set(data, claims)
    return claims
  }

  /**
   * Claims the key for `sessionId`, unless an earlier claim still holds it. Returns the session ID that holds the key.
   *
   * @param now - Milliseconds of a monotonic clock; all claims of the data must use the same clock.
   */
  claim(key: string, sessionId: string, ttlMs: number, now: number): string {
    const kept = this.#claims.get(key)
    if (kept !== undefined && kept.expiresAt > now) return kept.sessionId
    this.#claims.delete(key)
    this.#claims.set(key, { sessionId, expiresAt: now + ttlMs })
    for (const [oldest, { expiresAt }] of this.#claims) {
      if (expiresAt > now && this.#claims.size <= this.#maxClaims) break
      this.#claims.delete(oldest)
    }
    return sessionId
  }
}
