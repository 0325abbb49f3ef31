/**
 * The engine's time. Everything timed uses a {@link Clock}, so that tests can control the time.
 */
import { clockFailed } from '../errors/engine-errors.js'

/** The source of the time and of timers for an engine. */
export interface Clock {
  /** Milliseconds since the epoch, as `Date.now()`. Used only for timestamps, such as `savedAt`. */
  now(): number
  /**
   * Optional: milliseconds that only go forward, counted from any moment. The engine measures all durations with it
   * (deadlines, delays, budgets), so that changing the machine's time does not affect them. Default: `now`.
   */
  monotonic?(): number
  /**
   * Optional: whether a timer ends with the request that set it, as on Cloudflare Workers. If so, turns never share a
   * timer. Default `false`.
   */
  readonly timersEndWithRequest?: boolean
  /**
   * Calls `callback` once, `ms` milliseconds from now. Returns a function that cancels it; calling that function late
   * or twice does nothing.
   *
   * @param isBackground - Whether the process may end before. Default `false`.
   */
  setTimer(callback: () => void, ms: number, isBackground?: boolean): () => void
}

/** The longest delay that `setTimeout` supports; a longer one would fire at once. */
const longestDelay = 2 ** 31 - 1

/**
 * Calls `callback` once, `ms` milliseconds from now, or never if `ms` is `Infinity`.
 *
 * @returns A function that cancels it; calling it late or twice does nothing.
 * @throws `FlowCodeError` if the clock cannot set a timer.
 */
export function setDeadline(clock: Clock, ms: number, callback: () => void): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => undefined
  try {
    return clock.setTimer(callback, ms)
  } catch (cause) {
    throw clockFailed(cause)
  }
}

/** The time used to measure durations, in milliseconds. */
export function monotonicTime(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/**
 * Whole milliseconds since `startedAt`, a {@link monotonicTime}. Never negative, even if a clock without monotonic time
 * was set back.
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
  setTimer(callback, ms, isBackground) {
    let remaining = ms
    let timer: ReturnType<typeof setTimeout>
    const arm = (): void => {
      const delay = Math.min(remaining, longestDelay)
      remaining -= delay
      timer = setTimeout(() => (remaining > 0 ? arm() : callback()), delay)
      if (isBackground) (timer as { unref?: () => void }).unref?.()
    }
    arm()
    return () => clearTimeout(timer)
  },
}
