/**
 * Budgets for model calls: their types, the validation of what an application passes, and the cost of a call. Whether a call
 * still fits the budget is checked in `src/engine/model-call/budget-check.ts`.
 */
import { invalidInput } from '../errors/engine-errors.js'
import { checkNumber, settingsOf } from '../util/options.js'
import type { TokenUsage } from './message.js'
import type { ModelPrices, ModelSelection } from './model-provider.js'

/** How much may be spent. Amounts that are absent are not limited. */
export interface ModelBudget {
  /** Attempts at model calls. */
  readonly modelCalls?: number
  /** Input and output tokens together. */
  readonly tokens?: number
  /** In the currency of the catalog's prices. Every model that is used must then have prices. */
  readonly cost?: number
  /** Milliseconds: for a turn, since it began; for a session, the sum over its turns. */
  readonly wallTimeMs?: number
}

/** Budgets of a turn and of a session. Each applies independently of the other. */
export interface ModelBudgets {
  /** What one turn may spend. Default: no limit. */
  readonly turn?: ModelBudget
  /** What one session may spend in all its turns, including failed ones. Default: no limit. */
  readonly session?: ModelBudget
}

/** The names of the amounts in a {@link ModelBudget}. */
export const amounts = ['modelCalls', 'tokens', 'cost', 'wallTimeMs'] as const

/**
 * Validates budgets that an application passed.
 *
 * @param source - How error messages name them.
 * @throws {@link InvalidInputError}
 */
export function checkBudgets(budgets: ModelBudgets | undefined, source: string): ModelBudgets | undefined {
  if (budgets === undefined) return undefined
  for (const [scope, budget] of settingsOf(budgets, source, ['turn', 'session'])) {
    const name = `${source}.${scope}`
    for (const [amount, value] of settingsOf(budget, name, amounts)) checkNumber(value, `${name}.${amount}`)
  }
  return budgets
}

/**
 * Checks that a model has prices if a budget limits the cost.
 *
 * @throws {@link InvalidInputError}
 */
export function checkPrices(
  budgets: readonly ModelBudgets[],
  { selection, prices }: { readonly selection: ModelSelection; readonly prices?: ModelPrices | undefined },
): void {
  const needsPrices = budgets.some(({ turn, session }) => turn?.cost !== undefined || session?.cost !== undefined)
  if (!needsPrices || prices !== undefined) return
  throw invalidInput(
    `Model '${selection.name}' of provider '${selection.provider}' has no prices in the catalog, which a budget with cost needs.`,
  )
}

/** The cost of a call, by the prices of its model. */
export function costOf({ inputTokens, outputTokens, cachedInputTokens = 0 }: TokenUsage, prices: ModelPrices): number {
  const { input, output, cachedInput = input } = prices
  const cached = Math.min(cachedInputTokens, inputTokens)
  return ((inputTokens - cached) * input + cached * cachedInput + outputTokens * output) / 1_000_000
}
