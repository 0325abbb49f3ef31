import { expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { load, processOver, save, warm } from '../../../testing/contract/stores/processes.js'
import { turnOn } from '../../../testing/contract/stores/turns.js'
import type { SwapOutcome } from './driver/session-driver.js'

/** Holds back each swap of a driver before it takes effect, until the swap's release function is called. */
function holdSwaps(driver: FakeDriver): (() => Promise<SwapOutcome>)[] {
  const held: (() => Promise<SwapOutcome>)[] = []
  const swap = driver.swap.bind(driver)
  driver.swap = (change) =>
    new Promise((resolve, reject) => {
      held.push(() => {
        const outcome = swap(change)
        outcome.then(resolve, reject)
        return outcome
      })
    })
  return held
}

// Found by a simulated run: the engine stopped waiting for a save at its deadline and tried it again, in other chunks.
// Then the first attempt succeeded after all, and the store assumed that its chunks were the stored ones.
test.each([
  ['first', [0, 1]],
  ['last', [1, 0]],
])('of two attempts at one save, whose first arrives %s, neither is taken for what is stored', async (_name, order) => {
  const driver = new FakeDriver()
  const [store, base] = await warm(driver)
  const held = holdSwaps(driver)
  const turn = turnOn(base, '4-a')
  const attempts = [save(store, turn)]
  await new Promise((resolve) => setImmediate(resolve))
  attempts.push(save(store, turn))
  await new Promise((resolve) => setImmediate(resolve))
  for (const index of order) {
    await held[index]?.()
    await attempts[index]
  }
  expect(
    driver.swaps
      .slice(-2)
      .map(({ replacesChunks }) => replacesChunks)
      .sort(),
  ).toEqual([false, true])
  const next = save(store, turnOn(turn.document, '5-a'))
  await new Promise((resolve) => setImmediate(resolve))
  await held[2]?.()
  await next
  for (const reader of [store, processOver(driver)]) {
    expect((await load(reader)).history.map(({ turn: number }) => number)).toEqual([1, 2, 3, 4])
  }
})
