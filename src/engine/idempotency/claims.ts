/**
 * The ID of a session that a request with a key starts. It is claimed before the session is made: every repeat of the
 * request, in whatever process, gets the same ID, and finds there what the first one stored.
 */
import { type Clock, monotonicTime } from '../../config/clock.js'
import type { StoreAccess } from '../../session/store-access.js'
import { MemoryClaims } from '../../stores/claims/claims.js'
import { digestOf } from '../../util/digest.js'
import type { RequestKey } from '../input/check-input.js'

/** How long a claim is kept: 24 hours. */
const claimMs = 24 * 60 * 60 * 1000

/** The claims of one engine. */
export class Claims {
  /** For a store without `claim`: it knows the repeats of this process only. */
  readonly #local = new MemoryClaims()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Claims an ID.
   *
   * @param round - Where the sessions of earlier claims have ended without an answer: how many. From 0.
   * @returns `sessionId`, or the one that was claimed before.
   * @throws `SessionStoreError` where the store failed.
   */
  async claim(access: StoreAccess, { claim }: RequestKey, round: number, sessionId: string): Promise<string> {
    const key = round === 0 ? claim : digestOf(`${claim} ${round}`)
    if (access.canClaim) return access.claim(key, sessionId, claimMs)
    return this.#local.claim(key, sessionId, claimMs, monotonicTime(this.#clock))
  }
}
