/**
 * Claims and the marks of deleted sessions in the memory of this process: for the memory store, and for Keyv's Map.
 * They belong to the data, so that two stores over the same data share them.
 */
import { claimMs } from '../../session/deletion-mark.js'

/** The most claims, and the most marks, if the data sets no bound; beyond it the oldest is dropped. */
const defaultMaxClaims = 10_000

/** The claims of each collection of sessions, such as a Map. */
const claimsByData = new WeakMap<object, MemoryClaims>()

/** Session IDs by key, and deleted session IDs: bounded, each for a while. */
export class MemoryClaims {
  readonly #claims: ExpiringTexts
  readonly #deleted: ExpiringTexts

  /** @param maxClaims - Beyond it the oldest claim is dropped; the same goes for the marks of deleted sessions. */
  constructor(maxClaims: number = defaultMaxClaims) {
    this.#claims = new ExpiringTexts(Math.max(1, maxClaims))
    this.#deleted = new ExpiringTexts(Math.max(1, maxClaims))
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
    const kept = this.#claims.get(key, now)
    if (kept !== undefined) return kept
    this.#claims.set(key, sessionId, ttlMs, now)
    return sessionId
  }

  /** Keeps the ID of a deleted session from being used again, for the life of a claim. */
  markDeleted(sessionId: string, now: number): void {
    this.#deleted.set(sessionId, '', claimMs, now)
  }

  /** Whether the ID is marked. */
  isDeleted(sessionId: string, now: number): boolean {
    return this.#deleted.get(sessionId, now) !== undefined
  }
}

/** Texts by key. */
class ExpiringTexts {
  readonly #most: number
  /** Oldest first. */
  readonly #entries = new Map<string, { readonly text: string; readonly expiresAt: number }>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string, now: number): string | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && entry.expiresAt > now ? entry.text : undefined
  }

  set(key: string, text: string, ttlMs: number, now: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { text, expiresAt: now + ttlMs })
    for (const [oldest, { expiresAt }] of this.#entries) {
      if (expiresAt > now && this.#entries.size <= this.#most) break
      this.#entries.delete(oldest)
    }
  }
}
