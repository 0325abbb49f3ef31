/**
 * Time as the engine sees it. Everything timed goes through a {@link Clock}, so that tests decide what time it is.
 */

/** The source of the time and of timers for an engine. */
export interface Clock {
  /** Milliseconds since the epoch, as `Date.now()`. */
  now(): number
  /**
   * Calls `callback` once, `ms` milliseconds from now. Returns a function that cancels it; calling that late, or
   * twice, does nothing.
   */
  setTimer(callback: () => void, ms: number): () => void
}

/** The longest delay that `setTimeout` keeps; beyond it, it would fire at once. */
const longestDelay = 2 ** 31 - 1

/**
 * Calls `callback` once, `ms` milliseconds from now; with `Infinity` never.
 *
 * @returns A function that cancels it; late or twice, it does nothing.
 */
export function setDeadline(clock: Clock, ms: number, callback: () => void): () => void {
  return ms === Number.POSITIVE_INFINITY ? () => undefined : clock.setTimer(callback, ms)
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(callback, ms) {
    let remaining = ms
    let timer: ReturnType<typeof setTimeout>
    const arm = (): void => {
      const delay = Math.min(remaining, longestDelay)
      remaining -= delay
      timer = setTimeout(() => (remaining > 0 ? arm() : callback()), delay)
    }
    arm()
    return () => clearTimeout(timer)
  },
}
