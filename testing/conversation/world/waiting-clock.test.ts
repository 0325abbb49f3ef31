import { expect, test } from 'vitest'
import { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import { WaitingClock } from './waiting-clock.js'

test('knows which wait ends first, and forgets those that ended or were cancelled', async () => {
  const clock = new VirtualClock()
  const waiting = new WaitingClock(clock)
  const rung: string[] = []
  expect(waiting.next).toBeUndefined()
  const abandon = waiting.setTimer(() => rung.push('abandoned'), 50)
  waiting.setTimer(() => rung.push('late'), 300)
  waiting.setTimer(() => rung.push('soon'), 100)
  expect([waiting.next, waiting.now()]).toEqual([50, clock.now()])
  abandon()
  expect(waiting.next).toBe(100)
  await clock.advance(100)
  expect([rung, waiting.next]).toEqual([['soon'], 200])
  await clock.advance(200)
  expect([rung, waiting.next, clock.pending]).toEqual([['soon', 'late'], undefined, 0])
})

test('a wait ends at the same distance where the wall time was set', async () => {
  const clock = new VirtualClock()
  const waiting = new WaitingClock(clock)
  waiting.setTimer(() => undefined, 100)
  clock.shiftWallTime(-3_600_000)
  expect(waiting.next).toBe(100)
  await clock.advance(100)
})

test('what never comes sets no timer', () => {
  const clock = new VirtualClock()
  const waiting = new WaitingClock(clock)
  const stop = waiting.setTimer(() => undefined, Number.POSITIVE_INFINITY)
  expect([waiting.next, clock.pending]).toEqual([Number.POSITIVE_INFINITY, 0])
  stop()
  expect(waiting.next).toBeUndefined()
})
