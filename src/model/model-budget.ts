/**
 * Budgets for model calls: their types, the validation of an application's values, and the cost of a call.
 * `src/engine/budgets/budget-check.ts` checks whether a call fits the budget.
 */
import { invalidInput } from '../errors/engine-errors.js'
import { checkNumber, checkOptionNames, type OptionNames } from '../util/options.js'
import type { TokenUsage } from './message.js'
import type { ModelPrices, ModelSelection } from './model-provider.js'

/** Budgets of a turn and of a session. Each applies independently of the other. */
export interface ModelBudgets {
  /** How much one turn may spend. Absent amounts are not limited. Default: no limit. */
  readonly turn?: {
    /** Attempts at model calls. */
    readonly modelCalls?: number
    /** Input and output tokens together. */
    readonly tokens?: number
    /** In the currency of the catalog's prices. Every model that is used must then have prices. */
    readonly cost?: number
    /** Milliseconds: for a turn, since it began; for a session, the total of its turns. */
    readonly wallTimeMs?: number
  }
  /** How much one session may spend in all its turns, including failed ones: the same amounts. Default: no limit. */
  readonly session?: ModelBudgets['turn']
}

/**
 * The budgets of an engine: for each turn and session, and for each owner.
 *
 * @inline
 */
export type EngineBudgets = ModelBudgets & {
  /**
   * How much one owner may spend in a window of time, over all sessions, including failed and cancelled turns. A window
   * begins with the first model call in it. Each process counts separately; sessions without an owner are not counted.
   * Default: no limit.
   */
  readonly owner?: {
    /** Milliseconds. Default 3 600 000 (an hour). */
    readonly windowMs?: number
    /** Attempts at model calls. */
    readonly modelCalls?: number
    /** Input and output tokens together. */
    readonly tokens?: number
    /** In the currency of the catalog's prices. Every model that is used must then have prices. */
    readonly cost?: number
  }
}

/** See {@link EngineBudgets}. */
export type OwnerBudget = NonNullable<EngineBudgets['owner']>

/** How much may be spent. Absent amounts are not limited. */
export type ModelBudget = NonNullable<ModelBudgets['turn']>

/** The names of the amounts in a {@link ModelBudget}. */
export const amounts = ['modelCalls', 'tokens', 'cost', 'wallTimeMs'] as const

const amountNames: OptionNames<ModelBudget> = { modelCalls: true, tokens: true, cost: true, wallTimeMs: true }
const ownerNames: OptionNames<OwnerBudget> = { windowMs: true, modelCalls: true, tokens: true, cost: true }

/** The names of the amounts for each scope. A flow's budgets have no owner scope. */
const flowScopes: Readonly<Record<string, object>> = { turn: amountNames, session: amountNames }
const engineScopes: typeof flowScopes = { ...flowScopes, owner: ownerNames }

/**
 * Validates the budgets of a flow.
 *
 * @param caller - The owner of the budgets, for error messages.
 * @param path - The option or method that sets them.
 * @throws `InvalidInputError`
 */
export function checkBudgets(
  budgets: ModelBudgets | undefined,
  caller: string,
  path: string,
): ModelBudgets | undefined {
  return checkScopes(budgets, caller, path, flowScopes)
}

/** Validates the option `budgets` of an engine. @throws `InvalidInputError` */
export function checkEngineBudgets(budgets: EngineBudgets | undefined): EngineBudgets | undefined {
  return checkScopes(budgets, 'FlowEngine', 'budgets', engineScopes)
}

function checkScopes<Budgets extends object | undefined>(
  budgets: Budgets,
  caller: string,
  path: string,
  scopes: typeof flowScopes,
): Budgets {
  if (budgets === undefined) return budgets
  checkOptionNames(caller, budgets, scopes, path)
  for (const [scope, budget] of Object.entries(budgets)) {
    if (budget === undefined) continue
    checkOptionNames(caller, budget, scopes[scope] as object, `${path}.${scope}`)
    for (const [amount, value] of Object.entries(budget)) {
      if (value !== undefined) checkNumber(caller, `${path}.${scope}.${amount}`, value)
    }
    if (scope !== 'owner' || amounts.some((amount) => budget[amount] !== undefined)) continue
    throw invalidInput(`${caller}: ${path}.owner must name modelCalls, tokens or cost; without them it bounds nothing.`)
  }
  return budgets
}

/**
 * Checks that a model has prices if a budget limits the cost.
 *
 * @throws `InvalidInputError`
 */
export function checkPrices(
  budgets: readonly EngineBudgets[],
  { selection, prices }: { readonly selection: ModelSelection; readonly prices?: ModelPrices | undefined },
): void {
  const needsPrices = budgets.some(({ turn, session, owner }) =>
    [turn, session, owner].some((budget) => budget?.cost !== undefined),
  )
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
