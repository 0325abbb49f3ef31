import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock/virtual-clock.js'
import { type Clock, elapsedMs, monotonicTime, systemClock } from './clock.js'

const thirtyDays = 30 * 24 * 60 * 60 * 1000

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('is the time of the machine', () => {
    expect(systemClock.now()).toBe(1_767_225_600_000)
    vi.setSystemTime(1_767_225_600_001)
    expect(systemClock.now()).toBe(1_767_225_600_001)
  })

  test('knows the platform on which a timer ends with its request', () => {
    expect(systemClock.timersEndWithRequest).toBe(false)
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    expect(systemClock.timersEndWithRequest).toBe(true)
    vi.stubGlobal('navigator', undefined)
    expect(systemClock.timersEndWithRequest).toBe(false)
    vi.unstubAllGlobals()
  })

  test('calls back once, after the time', () => {
    const callback = vi.fn()
    systemClock.setTimer(callback, 100)
    vi.advanceTimersByTime(99)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1_000)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test('cancels, and cancelling twice or late does nothing', () => {
    const callback = vi.fn()
    const cancel = systemClock.setTimer(callback, 100)
    cancel()
    cancel()
    vi.advanceTimersByTime(1_000)
    expect(callback).not.toHaveBeenCalled()
    const late = systemClock.setTimer(callback, 100)
    vi.advanceTimersByTime(100)
    late()
    expect(callback).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits longer than one timer of the machine can', () => {
    const callback = vi.fn()
    systemClock.setTimer(callback, thirtyDays)
    vi.advanceTimersByTime(thirtyDays - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test('never gives the machine a delay that it would take for none', () => {
    // Over the real one: restored later, a spy over the fake timer would put the fake back.
    vi.useRealTimers()
    const spy = vi.spyOn(globalThis, 'setTimeout').mockReturnValue(undefined as never)
    systemClock.setTimer(() => undefined, Number.POSITIVE_INFINITY)
    systemClock.setTimer(() => undefined, thirtyDays)
    systemClock.setTimer(() => undefined, 2 ** 31 - 1)
    expect(spy.mock.calls.map(([, delay]) => delay)).toEqual([2_147_483_647, 2_147_483_647, 2_147_483_647])
  })

  test('cancels in the second stretch of a long wait', () => {
    const callback = vi.fn()
    const cancel = systemClock.setTimer(callback, thirtyDays)
    vi.advanceTimersByTime(2 ** 31)
    cancel()
    vi.advanceTimersByTime(thirtyDays)
    expect(callback).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('calls back later even where there is nothing to wait for', () => {
    const callback = vi.fn()
    systemClock.setTimer(callback, 0)
    systemClock.setTimer(callback, -5)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(2)
  })
})

describe('elapsedMs', () => {
  /** A clock of an application. */
  function clockAt(now: number, monotonic?: number): Clock {
    const setTimer = (): (() => void) => () => undefined
    return monotonic === undefined
      ? { now: () => now, setTimer }
      : { now: () => now, monotonic: () => monotonic, setTimer }
  }

  test('goes by monotonic time', () => {
    const clock = new VirtualClock()
    const startedAt = monotonicTime(clock)
    clock.jump(250)
    clock.shiftWallTime(-3_600_000)
    expect(elapsedMs(clock, startedAt)).toBe(250)
  })

  test('goes by the time of day where a clock has no other, and is not negative where that was set back', () => {
    expect(elapsedMs(clockAt(1_000), 400)).toBe(600)
    expect(elapsedMs(clockAt(100), 400)).toBe(0)
  })

  test('is a whole number', () => {
    expect(elapsedMs(clockAt(0, 12.6), 2.1)).toBe(11)
  })
})
