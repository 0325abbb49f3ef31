/** The engine's options about calls of models: their defaults, and the check of what the application passed. */
import { InvalidInputError } from '../errors/engine-errors.js'
import { CircuitBreakers } from '../model/circuit-breaker.js'
import { checkBudgets } from '../model/model-budget.js'
import type { FlowEngineOptions } from './engine-options.js'
import type { EngineParts } from './engine-parts.js'

/**
 * Fills in the defaults.
 *
 * @throws {@link InvalidInputError}
 */
export function resolveModelOptions(
  options: FlowEngineOptions,
): Pick<EngineParts, 'modelRetry' | 'circuitBreakers' | 'budgets'> {
  const modelRetry = withDefaults('modelRetry', options.modelRetry, {
    maxAttempts: 3,
    baseDelayMs: 500,
    maxDelayMs: 8_000,
  })
  const breaker = withDefaults('circuitBreaker', options.circuitBreaker, {
    failureThreshold: 10,
    resetTimeoutMs: 30_000,
  })
  return {
    modelRetry,
    circuitBreakers: new CircuitBreakers(breaker),
    budgets: checkBudgets(options.budgets, 'The engine option budgets'),
  }
}

function withDefaults<T extends Readonly<Record<string, number>>>(
  option: string,
  given: { readonly [Name in keyof T]?: number } | undefined,
  defaults: T,
): T {
  const known = Object.keys(defaults)
  const resolved: Record<string, number> = { ...defaults }
  for (const [name, value] of Object.entries<unknown>(given ?? {})) {
    if (value === undefined) continue
    // None of them may be 0, but a delay of none is a delay.
    const least = name.endsWith('DelayMs') ? 0 : 1
    if (!known.includes(name) || !(typeof value === 'number' && value >= least)) {
      throw new InvalidInputError({
        message: `The engine option ${option} takes numbers of at least ${least} in ${known.join(', ')}; got ${name}: ${String(value)}.`,
      })
    }
    resolved[name] = value
  }
  return Object.freeze(resolved) as T
}
