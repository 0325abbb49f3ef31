/**
 * Time that stands still until a test moves it. Everything timed in an engine goes by its clock, so a test of a
 * two-minute deadline takes no time and cannot be early or late.
 */
import type { Clock } from '../src/index.js'

interface Timer {
  readonly at: number
  readonly order: number
  readonly callback: () => void
}

/**
 * A {@link Clock} moved by hand.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock()
 * const engine = new FlowEngine({ flows: [Slow], clock })
 * const reply = engine.run({ flowName: 'Slow', userMessage: 'Hello' })
 * await clock.advance(120_000)
 * expect((await reply).success).toBe(false)
 * ```
 */
export class VirtualClock implements Clock {
  #now: number
  #count = 0
  readonly #timers = new Set<Timer>()

  /** @param now - The first time, in milliseconds since the epoch. Default: 2026-01-01T00:00:00Z. */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, ms: number): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#count++, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. A finished conversation leaves none. */
  get pending(): number {
    return this.#timers.size
  }

  /**
   * Moves the time on by `ms` milliseconds, calls the timers that end on the way in their order, and lets what they
   * set off run until it waits again.
   */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms
    await this.settle()
    for (let timer = this.#next(target); timer !== undefined; timer = this.#next(target)) {
      this.#timers.delete(timer)
      this.#now = timer.at
      timer.callback()
      await this.settle()
    }
    this.#now = target
  }

  /** Lets everything run that waits for no timer: promises, and what they set off. */
  async settle(): Promise<void> {
    // One turn of the event loop: by then every chain of settled promises has run.
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 0)
    })
  }

  #next(target: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.at > target) continue
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer
    }
    return next
  }
}
