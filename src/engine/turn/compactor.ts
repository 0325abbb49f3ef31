/**
 * The interface of a compactor, which keeps memories short. A flow's compaction policies bring it along
 * (`src/compaction`).
 */
import type { FlowRegistry } from '../../flow/flow-registry.js'
import type { ModelBudgets } from '../../model/model-budget.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { TurnControl } from './control/turn-control.js'
import type { FlowSteps } from './draft/flow-steps.js'
import type { TurnDraft } from './draft/turn-draft.js'

/** Keeps the memories of one flow short. */
export interface Compactor {
  /**
   * Checks the policies against the flow's steps and the registered models.
   *
   * @throws `FlowRegistrationError` for a namespace that no model step uses; `InvalidInputError` for a
   * model that cannot be used.
   */
  check(control: TurnControl, steps: FlowSteps, budgets: readonly ModelBudgets[]): void
  /** Called when the turn has its reply, before the commit. Returns `undefined` if nothing is too long. */
  start(control: TurnControl, draft: TurnDraft): Compaction | undefined
  /** Called if the commit met a conflict. Returns `undefined` if the conflict stands. */
  moveCommit(control: TurnControl, draft: TurnDraft, document: SessionDocument): Promise<MovedCommit | undefined>
}

/** A commit over a summary that was stored while the turn ran. */
export interface MovedCommit {
  readonly document: SessionDocument
  /** The revision that the document replaces. */
  readonly storedRevision: string
}

/** The remaining compaction work once the turn is stored. */
export interface Compaction {
  committed(document: SessionDocument): void
}

/**
 * The compactor of a flow; `undefined` if it has no policies. The registry stores compactors without knowing their
 * type.
 */
export function compactorOf(flows: FlowRegistry, flowName: string): Compactor | undefined {
  return flows.compactorOf(flowName) as Compactor | undefined
}
