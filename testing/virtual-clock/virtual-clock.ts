/**
 * A clock that a test moves. Everything timed in an engine uses its clock, so a test of a two-minute deadline takes no
 * time and cannot be early or late.
 */
import type { Clock } from '../../src/index.js'
import { checkNumber, checkOptionNames, invalidInput } from '../../src/util/options.js'
import { shownValue } from '../../src/util/shown-value.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { inNextTask } from './real-time.js'

interface Timer {
  /** In monotonic time. */
  readonly at: number
  readonly order: number
  readonly callback: () => void
}

/** How far {@link VirtualClock.runUntil} goes. @inline */
export interface RunUntilOptions {
  /** Milliseconds of virtual time. Default: one day. */
  readonly withinMs?: number
}

const oneDay = 86_400_000
/** How many timers an error lists. */
const mostListed = 10

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
  /** Milliseconds since the clock was made. Timers go by it. */
  #elapsed = 0
  /** What the wall time was when the clock was made, as the shifts since have changed it. */
  #wallStart: number
  #count = 0
  readonly #timers = new Set<Timer>()

  /**
   * @param now - The first time, in milliseconds since the epoch. Default: 2026-01-01T00:00:00Z.
   * @throws `InvalidInputError` for what is not a finite number.
   */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    checkMilliseconds('VirtualClock', 'now', now)
    this.#wallStart = now
  }

  now(): number {
    return this.#wallStart + this.#elapsed
  }

  /** Milliseconds since the clock was made, whatever the wall time was set to. Timers and deadlines go by it. */
  monotonic(): number {
    return this.#elapsed
  }

  /** The time as a text, as it stands in a session document: ISO 8601, UTC. */
  get iso(): string {
    return new Date(this.now()).toISOString()
  }

  /**
   * Sets the wall time forward or back, as on a machine whose clock was corrected. No time passes: timers and deadlines
   * keep their distance. A negative `ms` sets it back.
   */
  shiftWallTime(ms: number): void {
    checkMilliseconds('VirtualClock.shiftWallTime', 'ms', ms)
    this.#wallStart += ms
  }

  setTimer(callback: () => void, ms: number): () => void {
    const timer: Timer = { at: this.#elapsed + Math.max(0, ms), order: this.#count++, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. A finished conversation leaves none. */
  get pending(): number {
    return this.#timers.size
  }

  /**
   * Advances the clock by `ms` milliseconds, runs the timers that end on the way in their order, and lets the work that
   * they start run until it waits again.
   *
   * @throws Error (rejects) if `ms` is not a number of 0 or more.
   */
  async advance(ms: number): Promise<void> {
    checkNumber('VirtualClock.advance', 'ms', ms, { min: 0, finite: true })
    const target = this.#elapsed + ms
    await this.settle()
    for (let timer = this.#next(target); timer !== undefined; timer = this.#next(target)) await this.#ring(timer)
    this.#elapsed = target
  }

  /**
   * Advances the clock, from timer to timer, until `promise` settles, and no further.
   *
   * @example
   * ```ts
   * const reply = await clock.runUntil(engine.run({ flowName: 'Slow', userMessage: 'Hello' }))
   * ```
   * @returns What it resolves to; rejects with what it rejects with.
   * @throws {@link ExpectationError} (rejects) that lists the pending timers, if `withinMs` is not enough, or no time
   * would be.
   */
  async runUntil<T>(promise: Promise<T>, options: RunUntilOptions = {}): Promise<T> {
    checkOptionNames('VirtualClock.runUntil', options, { withinMs: true })
    const { withinMs = oneDay } = options
    const bound = this.#elapsed + withinMs
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    promise.then(settle, settle)
    await this.settle()
    while (!isSettled) {
      const timer = this.#next(bound)
      if (timer === undefined) throw new ExpectationError(this.#stuckText(withinMs))
      await this.#ring(timer)
    }
    return promise
  }

  /**
   * Advances the clock at once, as on a machine that slept: timers that ended on the way all run now, late. The work
   * that they start runs when the caller waits. A negative `ms` is for {@link shiftWallTime}: no timer goes back.
   */
  jump(ms: number): void {
    checkMilliseconds('VirtualClock.jump', 'ms', ms)
    if (ms < 0) this.shiftWallTime(ms)
    else this.#elapsed += ms
    const due = [...this.#timers].filter(({ at }) => at <= this.#elapsed)
    for (const timer of due.sort(inOrder)) if (this.#timers.delete(timer)) timer.callback()
  }

  /** Lets everything run that waits for no timer: promises, and the work that they start. */
  async settle(): Promise<void> {
    // One turn of the event loop: by then every chain of settled promises has run.
    await new Promise<void>((resolve) => {
      inNextTask(resolve)
    })
  }

  async #ring(timer: Timer): Promise<void> {
    this.#timers.delete(timer)
    this.#elapsed = timer.at
    timer.callback()
    await this.settle()
  }

  #next(target: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.at <= target && (next === undefined || inOrder(timer, next) < 0)) next = timer
    }
    return next
  }

  #stuckText(withinMs: number): string {
    const timers = [...this.#timers].sort(inOrder)
    if (timers.length === 0) {
      return [
        'The promise did not settle, and no timer is pending on this clock: no time would settle it.',
        "It waits for something else (a gate, a reply that never comes) or for another clock. Is this one the engine's, the store's and the model's?",
      ].join('\n')
    }
    const lines = timers.slice(0, mostListed).map(({ at }) => `  - ${textOf(at - this.#elapsed, this.now())}`)
    if (timers.length > mostListed) lines.push(`  - and ${timers.length - mostListed} more`)
    return [
      `The promise did not settle within ${withinMs} ms. It is ${this.iso} now; pending timers:`,
      ...lines,
      'Give it more time with { withinMs }, or look for what it waits for.',
    ].join('\n')
  }
}

function checkMilliseconds(caller: string, name: string, value: unknown): void {
  if (Number.isFinite(value)) return
  throw invalidInput(`${caller}: ${name} must be a finite number of milliseconds; got ${shownValue(value)}.`)
}

function inOrder(one: Timer, other: Timer): number {
  return one.at === other.at ? one.order - other.order : one.at - other.at
}

function textOf(inMs: number, now: number): string {
  return Number.isFinite(inMs) ? `in ${inMs} ms (${new Date(now + inMs).toISOString()})` : 'never'
}
