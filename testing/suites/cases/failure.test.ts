import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { withDeadline } from './failure.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Work that goes on until it is ended, with calls that settle in the meantime. */
function workOf(): { calls: { settled: number; hanging: string }; outcome: Promise<unknown>; end(): void } {
  let end = (): void => undefined
  const work = new Promise<void>((resolve) => {
    end = resolve
  })
  const calls = { settled: 0, hanging: 'load("a")' }
  return { calls, end, outcome: withDeadline(work, 1_000, calls).then(() => 'done', String) }
}

test('work has all the time that it needs while its calls settle', async () => {
  const { calls, outcome, end } = workOf()
  for (let call = 0; call < 100; call++) {
    calls.settled++
    await vi.advanceTimersByTimeAsync(999)
  }
  end()
  expect(await outcome).toBe('done')
  expect(vi.getTimerCount()).toBe(0)
})

test('work fails when no call has settled for the time of the deadline', async () => {
  const { calls, outcome } = workOf()
  await vi.advanceTimersByTimeAsync(500)
  calls.settled++
  await vi.advanceTimersByTimeAsync(1_500)
  expect(await outcome).toBe('Error: Expected load("a") to settle; it hung for 1000 ms.')
})
