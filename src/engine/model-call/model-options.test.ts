import { describe, expect, test } from 'vitest'
import { FlowEngine, type FlowEngineOptions, InvalidInputError, MemorySessionStore } from '../../index.js'
import { resolveModelOptions } from './model-options.js'

const engineOf = (options: object): FlowEngine =>
  new FlowEngine({ sessionStore: new MemorySessionStore(), ...(options as FlowEngineOptions) })

test('the defaults', () => {
  const { modelRetry, budgets, random } = resolveModelOptions({})
  expect(modelRetry).toEqual({ maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 8_000 })
  expect([budgets, random]).toEqual([undefined, Math.random])
})

test('what is given takes the place of its default alone, and is kept as it was', () => {
  const given = { maxAttempts: 5, baseDelayMs: undefined }
  const { modelRetry } = resolveModelOptions({ modelRetry: given as never })
  given.maxAttempts = 9
  expect(modelRetry).toEqual({ maxAttempts: 5, baseDelayMs: 500, maxDelayMs: 8_000 })
  expect(Object.isFrozen(modelRetry)).toBe(true)
})

test.each([
  { modelRetry: { maxAttempts: 1, baseDelayMs: 0, maxDelayMs: 0 } },
  { modelRetry: { maxAttempts: Number.POSITIVE_INFINITY } },
  { circuitBreaker: { failureThreshold: Number.POSITIVE_INFINITY, resetTimeoutMs: 1 } },
  { modelRetry: {}, circuitBreaker: {}, budgets: {} },
])('%j is taken', (options) => {
  expect(engineOf(options)).toBeInstanceOf(FlowEngine)
})

describe('refused, by name', () => {
  test.each<[object, string]>([
    [{ modelRetry: null }, 'Engine option modelRetry must be an object.'],
    [{ modelRetry: 3 }, 'Engine option modelRetry must be an object.'],
    [{ modelRetry: [] }, 'Engine option modelRetry must be an object.'],
    [
      { modelRetry: { attempts: 3 } },
      "Engine option modelRetry has no 'attempts'. It has: maxAttempts, baseDelayMs, maxDelayMs.",
    ],
    [{ modelRetry: { maxAttempts: 0 } }, 'Engine option modelRetry.maxAttempts must be a number of at least 1; got 0.'],
    [
      { modelRetry: { baseDelayMs: -1 } },
      'Engine option modelRetry.baseDelayMs must be a number of at least 0; got -1.',
    ],
    [
      { modelRetry: { maxDelayMs: Number.NaN } },
      'Engine option modelRetry.maxDelayMs must be a number of at least 0; got NaN.',
    ],
    [
      { modelRetry: { maxAttempts: '3' } },
      'Engine option modelRetry.maxAttempts must be a number of at least 1; got 3.',
    ],
    [{ circuitBreaker: 'off' }, 'Engine option circuitBreaker must be an object.'],
    [
      { circuitBreaker: { failureThreshold: null } },
      'Engine option circuitBreaker.failureThreshold must be a number of at least 1; got null.',
    ],
    [
      { circuitBreaker: { resetTimeoutMs: 0 } },
      'Engine option circuitBreaker.resetTimeoutMs must be a number of at least 1; got 0.',
    ],
    [{ random: 5 }, 'Engine option random must be a function.'],
  ])('%j', (options, message) => {
    expect(() => engineOf(options)).toThrow(new InvalidInputError({ message }))
  })
})
