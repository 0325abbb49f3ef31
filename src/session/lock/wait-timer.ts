/**
 * The timer of one request that waits for a lock. It ends a wait that takes too long, and takes the lock from a holder
 * that is still running long after its deadline. Each request has its own timer, because a runtime may drop the timers
 * of other requests.
 */
import { type Clock, monotonicTime, setDeadline } from '../../config/clock.js'
import type { LockHolder, Waiter } from './lock-line.js'

/** The lock that a request waits for. */
export interface AwaitedLock {
  readonly clock: Clock
  /** The holder that the request waits for now. */
  readonly holder: () => LockHolder
  /** All current holders. */
  readonly holders: () => readonly LockHolder[]
  /** The monotonic time from which the lock may be taken from a holder. */
  readonly takeableAt: (holder: LockHolder) => number
  readonly take: (holder: LockHolder) => void
}

/**
 * Starts the timer of a request. A wait ends after `timeoutMs`, or later if the lock can be taken from the holders that
 * were there when the wait began.
 *
 * @returns A function that stops the timer.
 */
export function startWaitTimer(waiter: Waiter, { clock, holder, holders, takeableAt, take }: AwaitedLock): () => void {
  const { timeoutMs = Number.POSITIVE_INFINITY, onTimeout } = waiter.wait
  const startedAt = monotonicTime(clock)
  const limit = startedAt + timeoutMs
  const met = new Set(holders())
  let stop: () => void

  function isOver(now: number): boolean {
    const current = holder()
    // A holder that has not begun may have been dropped; its lock can be taken soon.
    return now >= limit && ((!met.has(current) && current.hasBegun) || takeableAt(current) === Number.POSITIVE_INFINITY)
  }

  function start(now: number): void {
    const takeAt = takeableAt(holder())
    const at = now < limit ? Math.min(limit, takeAt) : takeAt
    stop = setDeadline(clock, Math.max(0, at - now), () => expire(at))
    // This holder keeps the lock until it ends, but the next one may be dropped.
    if (at === Number.POSITIVE_INFINITY) void waiter.nextHolder().then(startAnew)
  }

  function startAnew(): void {
    if (waiter.hasLeft) return
    try {
      start(monotonicTime(clock))
    } catch (error) {
      waiter.cancel(error)
    }
  }

  function expire(at: number): void {
    if (waiter.hasLeft) return
    // Never earlier than the timer's time, even if the clock was set back.
    const now = Math.max(at, monotonicTime(clock))
    const current = holder()
    if (takeableAt(current) <= now) take(current)
    // That may have given the lock to this request.
    if (waiter.hasLeft) return
    try {
      if (isOver(now)) waiter.cancel(onTimeout?.())
      else start(now)
    } catch (error) {
      waiter.cancel(error)
    }
  }

  start(startedAt)
  return () => stop()
}
