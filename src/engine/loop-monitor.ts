/**
 * Notices a blocked event loop, by a timer that is called late: code that computes for long holds up every turn of the
 * process. The timer is set only while turns run and somebody listens to `loop:blocked`.
 */
import { type Clock, monotonicTime } from '../config/clock.js'
import type { EngineEvents } from './core/engine-events.js'

/** How long the timer is set for, in milliseconds. */
const interval = 20

/** How late it must be called to be reported, in milliseconds. */
const leastBlocked = 50

/** Watches the event loop for one engine. */
export class LoopMonitor {
  readonly #clock: Clock
  readonly #events: EngineEvents
  readonly #turns: { readonly size: number }
  #stopTimer: (() => void) | undefined

  /** @param turns - The turns under way. */
  constructor(clock: Clock, events: EngineEvents, turns: { readonly size: number }) {
    this.#clock = clock
    this.#events = events
    this.#turns = turns
  }

  /** To be called when a turn begins. Watches until no turn runs. */
  watch(): void {
    if (this.#stopTimer !== undefined || !this.#events.hasListeners('loop:blocked')) return
    const dueAt = monotonicTime(this.#clock) + interval
    const check = (): void => {
      this.#stopTimer = undefined
      const blockedMs = Math.round(monotonicTime(this.#clock) - dueAt)
      if (blockedMs >= leastBlocked) this.#events.emit('loop:blocked', { blockedMs, at: this.#clock.now() })
      if (this.#turns.size > 0) this.watch()
    }
    try {
      this.#stopTimer = this.#clock.setTimer(check, interval)
    } catch {
      // Nothing is watched then. The turn's deadlines report that the clock fails.
    }
  }

  /** Stops watching: the engine closes. */
  stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }
}
