/**
 * Claims in the memory of this process: for the memory store, and for Keyv's Map. They belong to the data, so that two
 * stores over the same data share them.
 */

/** What is kept under a key. */
interface Claim {
  readonly sessionId: string
  /** In the time of the caller. */
  readonly expiresAt: number
}

/** Claims kept for data that says nothing else; beyond it the oldest is dropped. */
const defaultMaxClaims = 10_000

/** By the data: a Map, or whatever else the sessions are in. */
const claimsByData = new WeakMap<object, MemoryClaims>()

/** Session IDs by key, bounded, each for a while. */
export class MemoryClaims {
  readonly #maxClaims: number
  /** Oldest first. */
  readonly #claims = new Map<string, Claim>()

  /** @param maxClaims - Beyond it the oldest is dropped. */
  constructor(maxClaims: number = defaultMaxClaims) {
    this.#maxClaims = Math.max(1, maxClaims)
  }

  /** The claims of some data, which are made when they are first asked for. */
  static of(data: object, maxClaims?: number): MemoryClaims {
    const claims = claimsByData.get(data) ?? new MemoryClaims(maxClaims)
    claimsByData.set(data, claims)
    return claims
  }

  /**
   * The session ID that is kept under the key: that of an earlier claim, or else this one from now on.
   *
   * @param now - In milliseconds of a monotonic clock, the same one for all claims of the data.
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
