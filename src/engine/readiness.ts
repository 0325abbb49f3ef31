/**
 * Whether an engine is ready for turns. Load balancers ask for it, as often as they like and whoever they are, so it
 * begins at most one operation of the store in a second, and that one only reads.
 */
import { type Clock, monotonicTime } from '../config/clock.js'
import type { FlowSession } from '../session/flow-session.js'

/** How long an answer of the store counts, in milliseconds, from when it was asked. */
const checkCountsMs = 1_000

/** No engine makes this ID: a store that answers has nothing under it. */
const unusedId = 'turnkeeper-readiness'

/** See above. */
export class Readiness {
  readonly #session: FlowSession
  readonly #clock: Clock
  #check: Promise<boolean> | undefined
  #askedAt = 0

  constructor({ session, clock }: { readonly session: FlowSession; readonly clock: Clock }) {
    this.#session = session
    this.#clock = clock
  }

  /**
   * `false` from the moment in which the engine begins to close, and where the store fails or does not answer in time.
   */
  async isReady(): Promise<boolean> {
    if (this.#session.closing) return false
    try {
      const now = monotonicTime(this.#clock)
      if (this.#check === undefined || now - this.#askedAt >= checkCountsMs) {
        this.#askedAt = now
        this.#check = this.#session.access.loadUnchecked(unusedId).then(() => true)
      }
      return (await this.#check) && !this.#session.closing
    } catch {
      return false
    }
  }
}
