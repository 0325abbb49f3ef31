/** The turns of an engine that are under way, waiting ones included: at most `maxConcurrentTurns`. */
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

  /** Gives a turn a place until {@link leave}, and says whether there was one. */
  enter(turn: AdmittedTurn): boolean {
    const now = monotonicTime(this.#clock)
    const { maxConcurrentTurns } = this.#limits
    if (this.#turns.size >= maxConcurrentTurns) this.#dropLost(now)
    if (this.#turns.size >= maxConcurrentTurns) return false
    this.#turns.set(turn, now)
    return true
  }

  /** The turn is settled, or never had a place. */
  leave(turn: AdmittedTurn): void {
    this.#turns.delete(turn)
  }

  /** The turns of an owner that are under way or waiting. */
  turnsOf(owner: string): readonly AdmittedTurn[] {
    return Array.from(this.#turns.keys()).filter((turn) => turn.owner === owner)
  }

  /**
   * Frees the places of turns that should have settled long ago: a runtime has dropped them
   * together with their request.
   */
  #dropLost(now: number): void {
    for (const [turn, since] of this.#turns) {
      if (now - since < longestTurnMs(this.#limits)) return
      this.#turns.delete(turn)
    }
  }
}
