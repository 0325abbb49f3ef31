/** What may be spent on models, checked when it is set; what a call cost. The check before a call is the engine's. */
import { invalidInput } from '../errors/engine-errors.js'
import { checkNumber, settingsOf } from '../util/options.js'
import type { TokenUsage } from './message.js'
import type { ModelPrices, ModelSelection } from './model-provider.js'

/** Amounts that may be spent. What is absent is not bounded. */
export interface ModelBudget {
  /** Attempts at calls of models. */
  readonly modelCalls?: number
  /** Tokens, in and out together. */
  readonly tokens?: number
  /** In the currency of the catalog's prices. Every model that is used must have prices then. */
  readonly cost?: number
  /** Milliseconds: of a turn, since it began; of a session, the sum over its turns. */
  readonly wallTimeMs?: number
}

/** Budgets; each holds by itself. */
export interface ModelBudgets {
  /** What one turn may spend. Default: not bounded. */
  readonly turn?: ModelBudget
  /** What one session may spend in all its turns, failed ones included. Default: not bounded. */
  readonly session?: ModelBudget
}

/** The amounts of a budget. */
export const amounts = ['modelCalls', 'tokens', 'cost', 'wallTimeMs'] as const

/**
 * Checks budgets that came from outside.
 *
 * @param source - How messages name them.
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
 * Checks that what a model costs can be told, where a budget asks for it.
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
    `Model '${selection.name}' of provider '${selection.provider}' has no prices in the catalog, and a budget of cost is set.`,
  )
}

/** What a call cost, by the prices of its model. */
export function costOf({ inputTokens, outputTokens, cachedInputTokens = 0 }: TokenUsage, prices: ModelPrices): number {
  const { input, output, cachedInput = input } = prices
  const cached = Math.min(cachedInputTokens, inputTokens)
  return ((inputTokens - cached) * input + cached * cachedInput + outputTokens * output) / 1_000_000
}
