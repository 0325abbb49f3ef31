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
}

const never: Deadline = { cancel: () => undefined }

/** Deadlines that all lie `ms` milliseconds ahead of the moment they are set; `Infinity` sets none. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  /** Oldest first: a Set keeps the order of insertion. */
  readonly #entries = new Set<Entry>()
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  set(callback: () => void): Deadline {
    if (this.#ms === Number.POSITIVE_INFINITY) return never
    const entry: Entry = { at: this.#clock.now() + this.#ms, callback, cancel: () => this.#remove(entry) }
    this.#entries.add(entry)
    if (this.#cancelTimer === undefined) this.#arm(this.#ms)
    return entry
  }

  #arm(ms: number): void {
    this.#cancelTimer = this.#clock.setTimer(() => this.#ring(), ms)
  }

  #remove(entry: Entry): void {
    // The timer goes with the last entry: an idle engine must not keep a process alive.
    if (this.#entries.delete(entry) && this.#entries.size === 0) this.#stop()
  }

  #stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #ring(): void {
    this.#cancelTimer = undefined
    const now = this.#clock.now()
    const ended: Entry[] = []
    for (const entry of this.#entries) {
      if (entry.at > now) break
      ended.push(entry)
    }
    for (const entry of ended) this.#entries.delete(entry)
    const [next] = this.#entries
    if (next !== undefined) this.#arm(Math.max(1, next.at - now))
    for (const entry of ended) entry.callback()
  }
}
