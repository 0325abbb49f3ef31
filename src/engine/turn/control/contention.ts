/** State that most turns never need, kept apart so that a plain turn does not allocate it. */
import type { TurnOutcome } from '../../core/run-envelope.js'

/** The state of a turn that has an idempotency key, or that meets other turns of its session. */
export class Contention {
  /**
   * The claimed session ID of a turn with an idempotency key that starts a session: whether it was made for this claim,
   * and how many were claimed before. `undefined` if none was claimed.
   */
  claimed: { readonly id: string; readonly isNew: boolean; readonly round: number } | undefined
  /** By session ID: the functions that release the turn's leases. See session-lease.ts. */
  leases: Map<string, () => Promise<void>> | undefined
  /**
   * The ID of a session that a turn was about to create when it was interrupted by this one, or by one that this one
   * superseded; `undefined` if there is none.
   */
  unstoredId: string | undefined
  /**
   * The session that an earlier waiting turn started because the requested one had ended: this turn continues in it.
   * `undefined` if there is none.
   */
  successor: string | undefined
  /** The ID of the turn that interrupted this one; `undefined` if none did. */
  supersededBy: string | undefined
  /** Whether `engine.cancel` ended the turn, or will end it if it is not a repeat. */
  isCancelled = false
  /** The ID of the turn that had the lock when this one asked for it, if it could still turn out to be a repeat. */
  arrivedBehind: string | undefined
  /** Whether that one had been cancelled by then. */
  arrivedAfterCancel = false
  /** Resolves when the turn is settled. */
  readonly outcome: Promise<TurnOutcome>
  /** Settles it. */
  settle!: (outcome: TurnOutcome) => void

  constructor() {
    this.outcome = new Promise((resolve) => {
      this.settle = resolve
    })
  }

  /** Takes the successor. If that is not stored, this turn creates it, and others may wait for it. */
  takeSuccessor(): string | undefined {
    const { successor } = this
    this.successor = undefined
    if (successor !== undefined) this.unstoredId = successor
    return successor
  }
}
