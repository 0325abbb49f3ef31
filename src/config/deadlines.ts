/**
 * Many deadlines of one length over a single timer. All entries of a queue wait equally long, so the oldest is the
 * next to end: adding and removing one costs no timer unless the queue was empty. What a deadline does is left to
 * its callback.
 */
import type { Clock } from './clock.js'

/** A deadline that was set. */
export interface Deadline {
  /** Takes the deadline back. Does nothing once it has ended. */
  cancel(): void
}

interface Entry extends Deadline {
  readonly at: number
  readonly callback: () => void
  waits: boolean
  previous: Entry | undefined
  next: Entry | undefined
}

const never: Deadline = { cancel: () => undefined }

/** Deadlines that all lie `ms` milliseconds ahead of the moment they are set; `Infinity` sets none. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  /** A chain, oldest first: entries come and go with each turn, and a link costs less than a place in a Set. */
  #first: Entry | undefined
  #last: Entry | undefined
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  set(callback: () => void): Deadline {
    if (this.#ms === Number.POSITIVE_INFINITY) return never
    const now = this.#clock.now()
    const entry: Entry = {
      at: now + this.#ms,
      callback,
      cancel: () => this.#remove(entry),
      waits: true,
      previous: this.#last,
      next: undefined,
    }
    if (this.#last === undefined) this.#first = entry
    else this.#last.next = entry
    this.#last = entry
    if (this.#cancelTimer === undefined) this.#arm(now, this.#ms)
    return entry
  }

  #remove(entry: Entry): void {
    if (!entry.waits) return
    entry.waits = false
    const { previous, next } = entry
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    // The timer goes with the last entry: an idle engine must not keep a process alive.
    if (this.#first === undefined) this.#stop()
  }

  #arm(now: number, ms: number): void {
    this.#cancelTimer = this.#clock.setTimer(() => this.#ring(now + ms), ms)
  }

  #stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #ring(due: number): void {
    this.#cancelTimer = undefined
    const told = this.#clock.now()
    // No deadline lies further ahead than they all are long, unless the clock was set back: the timer knows better then.
    const now = this.#first !== undefined && this.#first.at - told > this.#ms ? due : told
    const ended: Entry[] = []
    for (let entry = this.#first; entry !== undefined && entry.at <= now; entry = entry.next) ended.push(entry)
    for (const entry of ended) this.#remove(entry)
    if (this.#first !== undefined) this.#arm(now, Math.max(1, this.#first.at - now))
    for (const entry of ended) entry.callback()
  }
}
