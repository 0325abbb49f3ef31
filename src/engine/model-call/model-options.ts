/** The engine's options about calls of models: their defaults, and the check of what the application passed. */
import { invalidInput } from '../../errors/engine-errors.js'
import { CircuitBreakers } from '../../model/circuit-breaker.js'
import { checkEngineBudgets } from '../../model/model-budget.js'
import { numbersWithDefaults } from '../../util/options.js'
import type { ModelSettings } from '../core/engine-context.js'
import type { FlowEngineOptions } from '../core/engine-options.js'

/**
 * Fills in the defaults.
 *
 * @throws `InvalidInputError`
 */
export function resolveModelOptions(options: FlowEngineOptions): ModelSettings {
  const { random = Math.random } = options
  if (typeof random !== 'function') {
    throw invalidInput('FlowEngine: random must be a function.')
  }
  const modelRetry = numbersWithDefaults(
    'FlowEngine',
    options.modelRetry,
    { maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 8_000 },
    // A delay may be 0; there must be at least one attempt.
    { path: 'modelRetry', rangeOf: (name) => ({ min: name === 'maxAttempts' ? 1 : 0 }) },
  )
  const breaker = numbersWithDefaults(
    'FlowEngine',
    options.circuitBreaker,
    { failureThreshold: 10, resetTimeoutMs: 30_000 },
    { path: 'circuitBreaker', rangeOf: () => ({ min: 1 }) },
  )
  return {
    random,
    modelRetry,
    circuitBreakers: new CircuitBreakers(breaker),
    budgets: checkEngineBudgets(options.budgets),
  }
}
