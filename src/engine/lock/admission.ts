/** Counts the turns of an engine, running and waiting: at most `maxConcurrentTurns`. */
import { type Clock, monotonicTime } from '../../config/clock.js'
import type { AdmittedTurn } from '../core/engine-context.js'
import { type EngineLimits, longestTurnMs } from '../core/engine-limits.js'

/** The places of one engine. */
export class Admission {
  readonly #clock: Clock
  readonly #limits: EngineLimits
  /** When each turn was admitted, in the clock's monotonic time; the oldest is the first. */
  readonly #turns = new Map<AdmittedTurn, number>()

  constructor(clock: Clock, limits: EngineLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Gives a turn a place until {@link leave}. Returns whether there was one. */
  enter(turn: AdmittedTurn): boolean {
    const now = monotonicTime(this.#clock)
    const { maxConcurrentTurns } = this.#limits
    if (this.#turns.size >= maxConcurrentTurns) this.#dropLost(now)
    if (this.#turns.size >= maxConcurrentTurns) return false
    this.#turns.set(turn, now)
    return true
  }

  /** Frees the place of a settled turn, if it had one. */
  leave(turn: AdmittedTurn): void {
    this.#turns.delete(turn)
  }

  /** The running and waiting turns of an owner. */
  turnsOf(owner: string): readonly AdmittedTurn[] {
    return Array.from(this.#turns.keys()).filter((turn) => turn.owner === owner)
  }

  /**
   * Frees the places of turns that should have settled long ago, because a runtime dropped them together with their
   * request.
   */
  #dropLost(now: number): void {
    for (const [turn, since] of this.#turns) {
      if (now - since < longestTurnMs(this.#limits)) return
      this.#turns.delete(turn)
    }
  }
}
