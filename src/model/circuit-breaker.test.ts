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
  test('lets all calls pass until as many failed in a row as the threshold says', () => {
    const breaker = new CircuitBreaker(options)
    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    expect(breaker.waitFor(0)).toBe(0)
    expect(breaker.failed(0)).toBe(true)
    expect(breaker.waitFor(0)).toBe(100)
    expect(breaker.waitFor(60)).toBe(40)
  })

  test('counts anew after an answer', () => {
    const breaker = new CircuitBreaker(options)
    breaker.failed(0)
    breaker.failed(0)
    expect(breaker.succeeded()).toBe(false)
    expect([breaker.failed(0), breaker.failed(0)]).toEqual([false, false])
    expect(breaker.waitFor(0)).toBe(0)
  })

  test('lets one call pass after its time, and turns the others away meanwhile', () => {
    const breaker = opened()
    expect(breaker.waitFor(100)).toBe(0)
    expect(breaker.waitFor(100)).toBe(100)
    expect(breaker.waitFor(150)).toBe(50)
  })

  test('closes when that one answers, and says so once', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.succeeded()).toBe(true)
    expect(breaker.succeeded()).toBe(false)
    expect([breaker.waitFor(101), breaker.waitFor(101)]).toEqual([0, 0])
    expect([breaker.failed(101), breaker.failed(101)]).toEqual([false, false])
  })

  test('stays open for as long again when that one fails, and says nothing new', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.failed(130)).toBe(false)
    expect(breaker.waitFor(229)).toBe(1)
    expect(breaker.waitFor(230)).toBe(0)
  })

  test('lets another one pass when nothing was heard of that one', () => {
    const breaker = opened()
    breaker.waitFor(100)
    expect(breaker.waitFor(199)).toBe(1)
    expect(breaker.waitFor(200)).toBe(0)
  })

  test('tells when it is shut, without letting anything through', () => {
    const breaker = opened()
    expect([breaker.isShutAt(99), breaker.isShutAt(100), breaker.isShutAt(100)]).toEqual([true, false, false])
    expect(breaker.waitFor(100)).toBe(0)
    expect(new CircuitBreaker(options).isShutAt(0)).toBe(false)
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
