/** Checks whether a turn may call a model once more, by comparing its spending with its budgets. */
import { type Clock, elapsedMs } from '../../config/clock.js'
import { BudgetExceededError } from '../../errors/engine-errors.js'
import type { TokenUsage } from '../../model/message.js'
import { amounts, type ModelBudget, type ModelBudgets } from '../../model/model-budget.js'
import type { SessionUsage } from '../../session/session-document.js'
import type { Estimate, OwnerSpending } from './owner-budgets.js'

/** The budgets of a turn, its start time, and its session's earlier spending. */
export class BudgetCheck {
  readonly #budgets: readonly ModelBudgets[]
  readonly #before: SessionUsage
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #owner: OwnerSpending | undefined
  /** Ends the reservation of the attempt that is under way. */
  #release: (() => void) | undefined

  /**
   * @param startedAt - When the turn began, in the clock's monotonic time.
   * @param owner - The spending of the session's owner. Default: not counted.
   */
  constructor(
    budgets: readonly ModelBudgets[],
    before: SessionUsage,
    clock: Clock,
    startedAt: number,
    owner?: OwnerSpending,
  ) {
    this.#budgets = budgets
    this.#before = before
    this.#clock = clock
    this.#startedAt = startedAt
    this.#owner = owner
  }

  /** Counts an attempt at a call for the owner, and reserves what it will probably cost until {@link countUsage}. */
  countCall(estimate: () => Estimate): void {
    this.#owner?.add({ modelCalls: 1 })
    this.#release = this.#owner?.reserve(estimate())
  }

  /**
   * Counts the cost of an attempt for the owner, even if the turn was aborted meanwhile and its session does not count
   * it.
   */
  countUsage({ inputTokens, outputTokens }: TokenUsage, cost: number | undefined): void {
    this.#release?.()
    this.#release = undefined
    this.#owner?.add({ tokens: inputTokens + outputTokens, ...(cost === undefined ? {} : { cost }) })
  }

  /** Adds the time of this turn to the session's spending, if a budget limits time. */
  keepTime(spent: { wallTimeMs?: number }): void {
    if (!this.#budgets.some(({ session }) => session?.wallTimeMs !== undefined)) return
    spent.wallTimeMs = (this.#before.wallTimeMs ?? 0) + elapsedMs(this.#clock, this.#startedAt)
  }

  /**
   * Called before each attempt at a call.
   *
   * @param delayMs - The delay before the attempt. Default: none.
   * @throws {@link BudgetExceededError} if a budget is used up
   */
  check(spent: SessionUsage, delayMs = 0): void {
    this.#owner?.check(delayMs)
    const before = this.#before
    const turnMs = elapsedMs(this.#clock, this.#startedAt) + delayMs
    for (const { turn, session } of this.#budgets) {
      if (turn !== undefined) {
        checkAmounts('turn', turn, {
          modelCalls: spent.modelCalls - before.modelCalls,
          tokens: tokensOf(spent) - tokensOf(before),
          cost: (spent.cost ?? 0) - (before.cost ?? 0),
          wallTimeMs: turnMs,
        })
      }
      if (session !== undefined) {
        checkAmounts('session', session, {
          modelCalls: spent.modelCalls,
          tokens: tokensOf(spent),
          cost: spent.cost ?? 0,
          wallTimeMs: (before.wallTimeMs ?? 0) + turnMs,
        })
      }
    }
  }
}

function checkAmounts(scope: 'turn' | 'session', budget: ModelBudget, spent: Required<ModelBudget>): void {
  for (const amount of amounts) {
    const value = budget[amount]
    if (value !== undefined && spent[amount] >= value) {
      throw new BudgetExceededError({ scope, amount, value, spent: spent[amount] })
    }
  }
}

function tokensOf({ inputTokens, outputTokens }: SessionUsage): number {
  return inputTokens + outputTokens
}
