/**
 * Counts the turns of an engine, running and waiting: at most `maxConcurrentTurns`, and of one owner at most
 * `maxConcurrentTurnsPerOwner`.
 */
import { type Clock, monotonicTime } from '../../config/clock.js'
import type { AdmittedTurn, ConcurrencyLimit } from '../core/engine-context.js'
import { type EngineLimits, longestTurnMs } from '../core/engine-limits.js'

/** The places of one engine. */
export class Admission {
  readonly #clock: Clock
  readonly #limits: EngineLimits
  /** When each turn was admitted, in the clock's monotonic time; the oldest is the first. */
  readonly #turns = new Map<AdmittedTurn, number>()
  /** How many turns each owner has, if any. */
  readonly #owned = new Map<string, number>()

  constructor(clock: Clock, limits: EngineLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Gives a turn a place until {@link leave}. Returns the limit that leaves it none; `undefined` if it has one. */
  enter(turn: AdmittedTurn): ConcurrencyLimit | undefined {
    const now = monotonicTime(this.#clock)
    if (this.#reached(turn) !== undefined) this.#dropLost(now)
    const limit = this.#reached(turn)
    if (limit !== undefined) return limit
    this.#turns.set(turn, now)
    this.#count(turn, 1)
    return undefined
  }

  /** Frees the place of a settled turn, if it had one. */
  leave(turn: AdmittedTurn): void {
    if (this.#turns.delete(turn)) this.#count(turn, -1)
  }

  #reached({ owner, isOfServer }: AdmittedTurn): ConcurrencyLimit | undefined {
    const { maxConcurrentTurns, maxConcurrentTurnsPerOwner } = this.#limits
    if (this.#turns.size >= maxConcurrentTurns) return 'maxConcurrentTurns'
    if (owner === undefined || isOfServer || (this.#owned.get(owner) ?? 0) < maxConcurrentTurnsPerOwner)
      return undefined
    return 'maxConcurrentTurnsPerOwner'
  }

  #count({ owner, isOfServer }: AdmittedTurn, more: 1 | -1): void {
    if (owner === undefined || isOfServer) return
    const count = (this.#owned.get(owner) ?? 0) + more
    if (count > 0) this.#owned.set(owner, count)
    else this.#owned.delete(owner)
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
      this.leave(turn)
    }
  }
}
