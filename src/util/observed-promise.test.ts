import { describe, expect, test } from 'vitest'
import { ObservedPromise } from './observed-promise.js'

describe('a promise that records whether it is observed', () => {
  test.each<readonly [string, (promise: Promise<number>) => unknown]>([
    ['await', async (promise) => expect(await promise).toBe(4)],
    ['then', (promise) => promise.then((value) => expect(value).toBe(4))],
    ['catch', (promise) => promise.catch(() => undefined)],
    ['finally', (promise) => promise.finally(() => undefined)],
    ['Promise.all', async (promise) => expect(await Promise.all([promise])).toEqual([4])],
    ['Promise.race', async (promise) => expect(await Promise.race([promise])).toBe(4)],
    ['an async function that returns it', async (promise) => expect(await (async () => promise)()).toBe(4)],
  ])('is observed by %s', async (_how, observe) => {
    const promise = ObservedPromise.of(Promise.resolve(4))
    expect(promise.isObserved).toBe(false)
    await observe(promise)
    expect(promise.isObserved).toBe(true)
  })

  test('is not observed by its own failure, which ends no process, nor by code that drops it', async () => {
    const outcome = Promise.reject(new Error('The card was declined.'))
    const promise = ObservedPromise.of(outcome)
    void promise
    await expect(outcome).rejects.toThrow('declined')
    // An unhandled rejection would fail the test run.
    await new Promise(setImmediate)
    expect(promise.isObserved).toBe(false)
    await expect(promise).rejects.toThrow('declined')
  })

  test('makes ordinary promises', () => {
    const promise = ObservedPromise.of(Promise.resolve(4))
    expect(promise).toBeInstanceOf(Promise)
    expect(promise.then()).not.toBeInstanceOf(ObservedPromise)
  })
})
