/** The engine's options about calls of models: their defaults, and the check of what the application passed. */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { CircuitBreakers } from '../model/circuit-breaker.js'
import { checkBudgets } from '../model/model-budget.js'
import { checkNumber, settingsOf } from '../model/settings.js'
import type { FlowEngineOptions } from './engine-options.js'
import type { EngineParts } from './engine-parts.js'

/**
 * Fills in the defaults.
 *
 * @throws {@link InvalidInputError}
 */
export function resolveModelOptions(
  options: FlowEngineOptions,
): Pick<EngineParts, 'modelRetry' | 'circuitBreakers' | 'budgets' | 'random'> {
  const { random = Math.random } = options
  if (typeof random !== 'function') {
    throw invalidInput('Engine option random must be a function.')
  }
  const modelRetry = withDefaults(
    'modelRetry',
    { maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 8_000 },
    options.modelRetry,
  )
  const breaker = withDefaults(
    'circuitBreaker',
    { failureThreshold: 10, resetTimeoutMs: 30_000 },
    options.circuitBreaker,
  )
  return {
    random,
    modelRetry,
    circuitBreakers: new CircuitBreakers(breaker),
    budgets: checkBudgets(options.budgets, 'Engine option budgets'),
  }
}

function withDefaults<T extends Readonly<Record<string, number>>>(
  option: string,
  defaults: T,
  given: { readonly [Name in keyof T]?: number } = {},
): T {
  const name = `Engine option ${option}`
  const entries = settingsOf(given, name, Object.keys(defaults))
  // A delay of none is a delay; an attempt must be one.
  for (const [key, value] of entries) checkNumber(value, `${name}.${key}`, key.endsWith('DelayMs') ? 0 : 1)
  return Object.freeze({ ...defaults, ...Object.fromEntries(entries) })
}
