import { describe, expect, test } from 'vitest'
import { CircuitBreaker, CircuitBreakers } from './circuit-breaker.js'

const options = { failureThreshold: 3, resetTimeoutMs: 100 }

/** A breaker that opened at 0. */
function opened(): CircuitBreaker {
  const breaker = new CircuitBreaker(options)
  for (let count = 0; count < 3; count++) breaker.failed(0)
  return breaker
}

describe('a breaker', () => {
  test('allows all calls until as many failures in a row as the threshold', () => {
    const breaker = new CircuitBreaker(options)
    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    expect(breaker.waitFor(0)).toBe(0)
    expect(breaker.failed(0)).toBe(true)
    expect(breaker.waitFor(0)).toBe(100)
    expect(breaker.waitFor(60)).toBe(40)
  })

  test('starts counting again after an answer', () => {
    const breaker = new CircuitBreaker(options)
    breaker.failed(0)
    breaker.failed(0)
    expect(breaker.succeeded()).toBe(false)
    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    expect(breaker.waitFor(0)).toBe(0)
  })

  test('allows one trial call after the reset timeout, and rejects the others meanwhile', () => {
    const breaker = opened()
    expect(breaker.waitFor(100)).toBe(0)
    expect(breaker.waitFor(100)).toBe(100)
    expect(breaker.waitFor(150)).toBe(50)
  })

  test('closes when the trial call answers, and reports that once', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.succeeded()).toBe(true)
    expect(breaker.succeeded()).toBe(false)
    expect([breaker.waitFor(101), breaker.waitFor(101)]).toEqual([0, 0])
    expect([breaker.failed(101), breaker.failed(101)]).toEqual([false, false])
  })

  test('stays open for another reset timeout when the trial call fails, and does not report that it opened', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.failed(130)).toBe(false)
    expect(breaker.waitFor(229)).toBe(1)
    expect(breaker.waitFor(230)).toBe(0)
  })

  test('allows another trial call if the outcome of the first was never reported', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.waitFor(199)).toBe(1)
    expect(breaker.waitFor(200)).toBe(0)
  })

  test('can be asked whether it is open, without that counting as the trial call', () => {
    const breaker = opened()
    expect([breaker.isOpenAt(99), breaker.isOpenAt(100), breaker.isOpenAt(100)]).toEqual([true, false, false])
    expect(breaker.waitFor(100)).toBe(0)
    expect(new CircuitBreaker(options).isOpenAt(0)).toBe(false)
  })

  test('never opens with a threshold of Infinity', () => {
    const breaker = new CircuitBreaker({ ...options, failureThreshold: Number.POSITIVE_INFINITY })
    for (let count = 0; count < 1_000; count++) expect(breaker.failed(0)).toBe(false)
    expect(breaker.waitFor(0)).toBe(0)
  })
})

test('each provider has one of its own, and always the same', () => {
  const breakers = new CircuitBreakers(options)
  expect(breakers.of('one')).toBe(breakers.of('one'))
  expect(breakers.of('one')).not.toBe(breakers.of('other'))
})
