/** Time that moves only in jumps, and whose timers ring within the jump: nothing in a simulation waits for real time. */
import type { Clock } from '../../../src/index.js'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export class ManualClock implements Clock {
  #now: number = Date.UTC(2026, 0, 1)
  readonly #timers = new Set<Timer>()

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, ms: number): () => void {
    const timer = { at: this.#now + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size
  }

  jump(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#timers].sort((one, other) => one.at - other.at)) {
      if (timer.at <= this.#now && this.#timers.delete(timer)) timer.callback()
    }
  }
}
