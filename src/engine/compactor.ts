/** What the engine asks of those who keep memories short. They come with a flow's policies, from `turnkeeper/compaction`. */
import type { ModelBudgets } from '../model/model-budget.js'
import type { SessionDocument } from '../session/session-document.js'
import type { BudgetCheck } from './model-call/budget-check.js'
import type { FlowSteps } from './turn/collect-steps.js'
import type { TurnScope } from './turn/turn-control.js'
import type { TurnDraft } from './turn/turn-draft.js'

/** Sees to the memories of one flow. */
export interface MemoryKeeper {
  /**
   * Checks the policies against the flow's steps and the registered models.
   *
   * @throws `FlowRegistrationError` for a namespace that no model step uses; `InvalidInputError` for a model that cannot
   * be used.
   */
  check(scope: TurnScope, steps: FlowSteps, budgets: readonly ModelBudgets[]): void
  /** To be called when the turn has said all, before its commit; `undefined`: nothing is too long. */
  start(scope: TurnScope, draft: TurnDraft, budget: BudgetCheck | undefined): Compaction | undefined
}

/** What the compaction of one turn has left to do when the turn is stored. */
export interface Compaction {
  committed(document: SessionDocument): void
}
