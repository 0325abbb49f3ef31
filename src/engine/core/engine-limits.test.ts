import { describe, expect, test } from 'vitest'
import { resolveLimits } from './engine-limits.js'

describe('resolveLimits', () => {
  test('fills in what is not given, or undefined', () => {
    const defaults = resolveLimits()
    expect(Object.keys(defaults)).toHaveLength(24)
    expect(resolveLimits({})).toEqual(defaults)
    const limits = resolveLimits({ turnTimeoutMs: 5, maxJsonDepth: undefined } as never)
    expect(limits).toEqual({ ...defaults, turnTimeoutMs: 5 })
  })

  test('gives a frozen object of its own', () => {
    const given = { turnTimeoutMs: 5 }
    const limits = resolveLimits(given)
    expect(Object.isFrozen(limits)).toBe(true)
    expect(Object.isFrozen(resolveLimits())).toBe(true)
    given.turnTimeoutMs = 6
    expect(limits.turnTimeoutMs).toBe(5)
  })

  test.each([1, 0.5, 1_000_000, Number.MAX_VALUE, Number.POSITIVE_INFINITY])('takes %d', (value) => {
    expect(resolveLimits({ maxMessageBytes: value }).maxMessageBytes).toBe(value)
  })

  test.each([
    [10_000, 1_000],
    [200, 20],
    [45, 20],
    [40, 20],
    [21, 10],
    [1, 1],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])('of %d places gives one owner a tenth, at least 20, and at most half: %d', (maxConcurrentTurns, expected) => {
    expect(resolveLimits({ maxConcurrentTurns }).maxConcurrentTurnsPerOwner).toBe(expected)
    const own = { maxConcurrentTurns, maxConcurrentTurnsPerOwner: 7 }
    expect(resolveLimits(own).maxConcurrentTurnsPerOwner).toBe(7)
  })

  test.each([
    [0, '0'],
    [-1, '-1'],
    [-0, '0'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    ['5', "the text '5'"],
    [null, 'null'],
    [true, 'true'],
    [5n, '5n'],
  ])('refuses %s', (value, shown) => {
    expect(() => resolveLimits({ maxMessageBytes: value as number })).toThrow(
      `FlowEngine: limits.maxMessageBytes must be a number above 0, or Infinity for no bound; got ${shown}.`,
    )
  })

  test.each(['maxMessageByte', 'toString', 'constructor', '__proto__x'])('refuses the unknown name %s', (name) => {
    expect(() => resolveLimits({ [name]: 5 })).toThrow(
      `FlowEngine: there is no option 'limits.${name}'. The options of limits are maxModelCallsPerTurn, maxToolCallsPerTurn, maxToolResultBytes, maxTransitionsPerTurn, turnTimeoutMs, modelTimeoutMs, toolTimeoutMs, maxConcurrentTurns, maxConcurrentTurnsPerOwner, maxQueuedTurnsPerSession, maxMessageBytes, maxAttachmentBytes, maxConfigBytes, maxJsonDepth, maxHistoryTurns, maxHistoryBytes, maxMemoryBytes, attachmentTurns, maxSessionBytes, maxReceipts, maxEffects, maxEffectBytes, storeTimeoutMs, closeTimeoutMs.`,
    )
  })

  test('an error of its is INVALID_INPUT', () => {
    try {
      resolveLimits({ nonsense: 1 } as never)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_INPUT' })
    }
  })
})
