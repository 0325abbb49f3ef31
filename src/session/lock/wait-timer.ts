/**
 * The timer of one request that waits for a lock: it ends a wait that takes too long, and takes the lock from a holder
 * that has not settled long after its deadline. Each request has its own, because a runtime may drop
 * the timers of another's.
 */
import { type Clock, monotonicTime, setDeadline } from '../../config/clock.js'
import type { LockHolder, Waiter } from './lock-line.js'

/** The lock that a request waits for. */
export interface AwaitedLock {
  readonly clock: Clock
  /** Who has it now, of those that the request waits for. */
  readonly holder: () => LockHolder
  /** Everybody who has it now. */
  readonly holders: () => readonly LockHolder[]
  /** When it may be taken from a holder, in monotonic time. */
  readonly takeableAt: (holder: LockHolder) => number
  readonly take: (holder: LockHolder) => void
}

/**
 * Starts the timer of a request. A wait ends after `timeoutMs`, or later: when the lock can be taken from the
 * holders that the request met.
 *
 * @returns A function that stops it.
 */
export function startWaitTimer(waiter: Waiter, { clock, holder, holders, takeableAt, take }: AwaitedLock): () => void {
  const { timeoutMs = Number.POSITIVE_INFINITY, onTimeout } = waiter.wait
  const startedAt = monotonicTime(clock)
  const limit = startedAt + timeoutMs
  const met = new Set(holders())
  let stop: () => void

  function isOver(now: number): boolean {
    const current = holder()
    // One that has not begun is perhaps dropped, and the lock can soon be taken from it.
    return now >= limit && ((!met.has(current) && current.hasBegun) || takeableAt(current) === Number.POSITIVE_INFINITY)
  }

  function start(now: number): void {
    const takeAt = takeableAt(holder())
    const at = now < limit ? Math.min(limit, takeAt) : takeAt
    stop = setDeadline(clock, Math.max(0, at - now), () => expire(at))
    // This holder keeps the lock until it ends. The next one may be dropped.
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
    // Not earlier than the timer was set for, even where a clock was set back since.
    const now = Math.max(at, monotonicTime(clock))
    const current = holder()
    if (takeableAt(current) <= now) take(current)
    // Now the lock may be this request's.
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
