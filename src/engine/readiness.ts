/**
 * Whether an engine is ready for turns. Any load balancer may ask this often, so it starts at most one store operation
 * a second, and only a read.
 */
import { type Clock, monotonicTime } from '../config/clock.js'
import type { FlowSession } from '../session/flow-session.js'

/** How long an answer of the store is valid, in milliseconds from the request. */
const checkCountsMs = 1_000

/** An ID that no engine makes, so a store that answers has nothing under it. */
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

  /** `false` once the engine begins to close, and if the store fails or does not answer in time. */
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
