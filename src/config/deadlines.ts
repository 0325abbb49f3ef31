/**
 * The deadlines of one engine. Its turns share few durations (`turnTimeoutMs`, `storeTimeoutMs`, ...), and almost no
 * deadline is ever reached. Each duration therefore has one list, ordered by end time, and only the first deadline of a
 * list has a clock timer. Setting or cancelling a deadline usually changes only a list.
 */
import type { FlowError } from '../errors/flow-error.js'
import { type Linked, LinkedList } from '../util/linked-list.js'
import { type Clock, monotonicTime, setDeadline } from './clock.js'

/** Called once: at the deadline, or with an error if the clock cannot set a timer. */
export type DeadlineCallback = (failure?: FlowError) => void

/** A deadline that was set. */
export class Deadline implements Linked<Deadline> {
  previous: Deadline | undefined
  next: Deadline | undefined
  /** When it ends, in the clock's monotonic time. */
  readonly at: number
  readonly callback: DeadlineCallback
  readonly #list: DeadlineList

  constructor(list: DeadlineList, at: number, callback: DeadlineCallback) {
    this.#list = list
    this.at = at
    this.callback = callback
  }

  /** Cancels the deadline. Calling it late or twice does nothing. */
  cancel(): void {
    this.#list.cancel(this)
  }
}

/** The deadlines of one duration, and the timer of the first one. */
class DeadlineList extends LinkedList<Deadline> {
  readonly #clock: Clock
  readonly #ms: number
  #stopTimer: (() => void) | undefined
  #isStarting = false
  /** The deadline for which the timer was set. It may have been cancelled since. */
  #timed: Deadline | undefined

  constructor(clock: Clock, ms: number) {
    super()
    this.#clock = clock
    this.#ms = ms
  }

  add(callback: DeadlineCallback): Deadline {
    const deadline = new Deadline(this, monotonicTime(this.#clock) + this.#ms, callback)
    this.append(deadline)
    if (this.#stopTimer === undefined && !this.#isStarting) this.#startSoon()
    return deadline
  }

  cancel(deadline: Deadline): void {
    // If other deadlines remain, keep the timer: when it fires, it is set again for the first of them.
    if (this.remove(deadline) && this.first === undefined) this.#stop()
  }

  /** Starts the timer after the pending microtasks: if the work is done by then, no timer is needed. */
  #startSoon(): void {
    this.#isStarting = true
    queueMicrotask(() => {
      this.#isStarting = false
      const { first } = this
      if (first !== undefined && this.#stopTimer === undefined) this.#startTimer(first, this.#ms)
    })
  }

  #startTimer(first: Deadline, ms: number): void {
    try {
      this.#stopTimer = setDeadline(this.#clock, ms, () => this.#expire())
      this.#timed = first
    } catch (failure) {
      this.#fail(failure as FlowError)
    }
  }

  /** Ends all deadlines of the list with the error, because they would never end otherwise. */
  #fail(failure: FlowError): void {
    const failed: Deadline[] = []
    for (let { first } = this; first !== undefined; first = this.first) {
      this.remove(first)
      failed.push(first)
    }
    this.#stop()
    for (const { callback } of failed) callback(failure)
  }

  #expire(): void {
    const timed = this.#timed
    const now = monotonicTime(this.#clock)
    try {
      // The timer's deadline has ended, even if a clock without monotonic time was set back since.
      for (let first = this.first; first !== undefined && (first === timed || first.at <= now); first = this.first) {
        this.remove(first)
        first.callback()
      }
    } finally {
      const { first } = this
      if (first === undefined) this.#stop()
      // At most the whole duration, even if the clock was set back.
      else this.#startTimer(first, Math.min(this.#ms, first.at - now))
    }
  }

  #stop(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#timed = undefined
  }
}

/** Sets deadlines on a clock. If there are no deadlines, no timer is set. */
export class Deadlines {
  readonly #clock: Clock
  /** Whether the deadlines of several turns may share a timer. */
  readonly #isShared: boolean
  /** Lists by duration. An empty list stays, because the next deadline usually follows soon. */
  readonly #lists = new Map<number, DeadlineList>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#isShared = clock.timersEndWithRequest !== true
  }

  /**
   * Calls `callback` once, `ms` milliseconds from now, or never if `ms` is `Infinity`. It must not throw. If the clock
   * cannot set a timer, `callback` is called at once with the error.
   *
   * @param isOwn - Whether this is the limit of a single step or tool. Their durations are unbounded in number, so no
   * list is kept for them. Default `false`: an engine limit.
   * @returns The deadline, so that it can be cancelled; `undefined` if `ms` is `Infinity`.
   */
  set(ms: number, callback: DeadlineCallback, isOwn = false): Deadline | undefined {
    if (ms === Number.POSITIVE_INFINITY) return undefined
    return this.#listFor(ms, isOwn).add(callback)
  }

  #listFor(ms: number, isOwn: boolean): DeadlineList {
    // A timer set by another request would end with that request.
    if (isOwn || !this.#isShared) return new DeadlineList(this.#clock, ms)
    let list = this.#lists.get(ms)
    if (list === undefined) {
      list = new DeadlineList(this.#clock, ms)
      this.#lists.set(ms, list)
    }
    return list
  }
}
