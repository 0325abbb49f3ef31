/** The engine's options about calls of models: their defaults, and the check of what the application passed. */
import { InvalidInputError, invalidInput } from '../../errors/engine-errors.js'
import { CircuitBreakers } from '../../model/circuit-breaker.js'
import { checkBudgets, type ModelBudgets } from '../../model/model-budget.js'
import { withDefaults } from '../../util/options.js'
import type { FlowEngineOptions, ModelRetryOptions } from '../engine-options.js'

/** What an engine keeps of its options about models. */
export interface ModelSettings {
  readonly random: () => number
  readonly modelRetry: Required<ModelRetryOptions>
  readonly circuitBreakers: CircuitBreakers
  readonly budgets: ModelBudgets | undefined
}

/**
 * Fills in the defaults.
 *
 * @throws {@link InvalidInputError}
 */
export function resolveModelOptions(options: FlowEngineOptions): ModelSettings {
  const { random = Math.random } = options
  if (typeof random !== 'function') {
    throw invalidInput('Engine option random must be a function.')
  }
  const modelRetry = withDefaults(
    'Engine option modelRetry',
    { maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 8_000 },
    options.modelRetry,
    // A delay may be 0; there must be at least one attempt.
    (key) => (key === 'maxAttempts' ? 1 : 0),
  )
  const breaker = withDefaults(
    'Engine option circuitBreaker',
    { failureThreshold: 10, resetTimeoutMs: 30_000 },
    options.circuitBreaker,
    () => 1,
  )
  return {
    random,
    modelRetry,
    circuitBreakers: new CircuitBreakers(breaker),
    budgets: checkBudgets(options.budgets, 'Engine option budgets'),
  }
}
