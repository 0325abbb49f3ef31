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
    [{ modelRetry: null }, 'FlowEngine: modelRetry must be an object.'],
    [{ modelRetry: 3 }, 'FlowEngine: modelRetry must be an object.'],
    [{ modelRetry: [] }, 'FlowEngine: modelRetry must be an object.'],
    [
      { modelRetry: { attempts: 3 } },
      "FlowEngine: there is no option 'modelRetry.attempts'. The options of modelRetry are maxAttempts, baseDelayMs, maxDelayMs. Did you mean 'maxAttempts'?",
    ],
    [
      { modelRetry: { maxAttempts: 0 } },
      'FlowEngine: modelRetry.maxAttempts must be a number of at least 1, or Infinity for no bound; got 0.',
    ],
    [
      { modelRetry: { baseDelayMs: -1 } },
      'FlowEngine: modelRetry.baseDelayMs must be a number of at least 0, or Infinity for no bound; got -1.',
    ],
    [
      { modelRetry: { maxDelayMs: Number.NaN } },
      'FlowEngine: modelRetry.maxDelayMs must be a number of at least 0, or Infinity for no bound; got NaN.',
    ],
    [
      { modelRetry: { maxAttempts: '3' } },
      "FlowEngine: modelRetry.maxAttempts must be a number of at least 1, or Infinity for no bound; got the text '3'.",
    ],
    [{ circuitBreaker: 'off' }, 'FlowEngine: circuitBreaker must be an object.'],
    [
      { circuitBreaker: { failureThreshold: null } },
      'FlowEngine: circuitBreaker.failureThreshold must be a number of at least 1, or Infinity for no bound; got null.',
    ],
    [
      { circuitBreaker: { resetTimeoutMs: 0 } },
      'FlowEngine: circuitBreaker.resetTimeoutMs must be a number of at least 1, or Infinity for no bound; got 0.',
    ],
    [{ random: 5 }, 'FlowEngine: random must be a function.'],
  ])('%j', (options, message) => {
    expect(() => engineOf(options)).toThrow(new InvalidInputError({ message }))
  })
})
