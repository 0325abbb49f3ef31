/**
 * Time as the engine sees it. Everything timed goes through a {@link Clock}, so that tests decide what time it is.
 */
import { clockFailed } from '../errors/engine-errors.js'

/** The source of the time and of timers for an engine. */
export interface Clock {
  /** Milliseconds since the epoch, as `Date.now()`. Only timestamps, such as `savedAt`, are taken from it. */
  now(): number
  /**
   * Optional: milliseconds that only go forward, counted from any moment. All durations are measured by it: deadlines,
   * delays, budgets. So setting the time of the machine changes none of them. Default: `now`.
   */
  monotonic?(): number
  /**
   * Optional: whether a timer ends with the request in which it was set, as on Cloudflare Workers. Then no two turns
   * share a timer. Default `false`.
   */
  readonly timersEndWithRequest?: boolean
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
 * @throws `FlowCodeError` where the clock cannot set a timer.
 */
export function setDeadline(clock: Clock, ms: number, callback: () => void): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => undefined
  try {
    return clock.setTimer(callback, ms)
  } catch (cause) {
    throw clockFailed(cause)
  }
}

/** The time that durations are measured by, in milliseconds. */
export function monotonicTime(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/**
 * Whole milliseconds since `startedAt`, a {@link monotonicTime}. Not negative, even where a clock
 * without one was set back.
 */
export function elapsedMs(clock: Clock, startedAt: number): number {
  return Math.max(0, Math.round(monotonicTime(clock) - startedAt))
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  get timersEndWithRequest() {
    // https://developers.cloudflare.com/workers/runtime-apis/web-standards/#navigatoruseragent
    return globalThis.navigator?.userAgent === 'Cloudflare-Workers'
  },
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
