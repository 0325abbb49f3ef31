/**
 * A view of a clock for those who wait only because a test said so: a scripted model, a slow store. It knows when the
 * next of these waits ends, so that a conversation can advance the clock to it. The clock itself keeps the timers.
 */
import type { Clock } from '../../../src/index.js'

/** A clock that records which code waits for it. */
export class WaitingClock implements Clock {
  readonly #clock: Clock
  readonly #due = new Set<{ readonly at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonic(): number {
    return this.#clock.monotonic?.() ?? this.now()
  }

  setTimer(callback: () => void, ms: number): () => void {
    const due = { at: this.monotonic() + ms }
    this.#due.add(due)
    const forget = (): void => void this.#due.delete(due)
    // A timer that never ends must not be set.
    if (ms === Number.POSITIVE_INFINITY) return forget
    const stop = this.#clock.setTimer(() => {
      forget()
      callback()
    }, ms)
    return () => {
      forget()
      stop()
    }
  }

  /** Milliseconds until the next wait ends: `Infinity` if none ever ends, `undefined` if nothing waits. */
  get next(): number | undefined {
    if (this.#due.size === 0) return undefined
    return Math.min(...Array.from(this.#due, ({ at }) => at)) - this.monotonic()
  }
}
