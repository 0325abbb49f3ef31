/** Handles a turn whose steps failed: the flow's `onError` may answer, starting from the session before the turn. */
import type { FlowError } from '../../errors/flow-error.js'
import { leavesSessionUnchanged } from '../../errors/session-errors.js'
import { Flow } from '../../flow/flow.js'
import { asFlowError } from '../core/error-text.js'
import { callFlowCode } from './control/flow-code-failure.js'
import type { TurnControl } from './control/turn-control.js'
import { attachSteps } from './draft/collect-steps.js'
import type { TurnDraft } from './draft/turn-draft.js'
import { loadLate } from './events/late-code.js'
import { runStepsAfterError, transitionOf } from './steps/run-steps.js'
import { TurnView } from './steps/turn-view.js'

/**
 * Whether a flow may answer for a failure: not for conflicts, store errors, cancellation, deadlines and a closing
 * engine.
 */
function isForFlow(error: FlowError): boolean {
  return (
    !leavesSessionUnchanged(error) && !['SESSION_STORE_ERROR', 'SCHEDULE_ERROR', 'TURN_TIMEOUT'].includes(error.code)
  )
}

/**
 * Calls the flow's `onError`, once.
 *
 * @returns the draft with the flow's answer
 * @throws the failure, if the flow does not answer for it; any error of `onError` or after it
 */
export async function recoverTurn(control: TurnControl, failed: TurnDraft, thrown: unknown): Promise<TurnDraft> {
  control.work.check()
  const { flow } = failed
  const error = asFlowError(thrown)
  // The user has sent nothing that could be answered.
  const isForUser = control.input.event === undefined
  if (flow.onError === Flow.prototype.onError || !isForUser || !isForFlow(error)) throw thrown
  const draft = failed.startAgain()
  control.draft = draft
  control.effects?.startAgain()
  control.mayBeginEffects = true
  Flow.setContext(flow, draft.base.flow.context)
  attachSteps(draft)
  if (draft.base.flow.frames !== undefined) (await loadLate(draft.steps, control.engine)).resumeCalls(draft)
  control.stream?.reset('error')
  const turn = new TurnView(control, draft, error)
  const returned: unknown = await callFlowCode(control, () => flow.onError(error, turn))
  control.work.check()
  const transition = transitionOf(returned, 'onError', control.flowName)
  if (transition === undefined) throw thrown
  await callFlowCode(control, () => runStepsAfterError(control, draft, turn, transition))
  return draft
}
