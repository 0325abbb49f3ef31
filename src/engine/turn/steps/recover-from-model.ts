/** Handles a turn whose model did not answer: the hooks of the step, and then of the flow, may decide. */
import { flowCodeError, type ModelBlockedError } from '../../../errors/engine-errors.js'
import { FlowError } from '../../../errors/flow-error.js'
import type { Step } from '../../../flow/step.js'
import { Transition } from '../../../flow/transition.js'
import type { ModelBlockedDetails } from '../../../flow/turn.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import type { TurnView } from './turn-view.js'

/**
 * Calls `onModelError` or `onModelBlocked` of the step, then of the flow, until one returns a transition.
 *
 * @throws the error, if neither returns one, or there is no hook for it
 */
export async function recoverFromModel(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  step: Step,
  error: unknown,
): Promise<Transition> {
  control.work.check()
  if (!FlowError.isInstance(error)) throw error
  const hook = hookFor(error)
  if (hook === undefined) throw error
  const details = hook === 'onModelBlocked' ? blockedDetails(error as ModelBlockedError, draft.stepId) : error
  const flows = draft.steps.flowsFrom(draft.steps.scopeOf(draft.stepId)).map(({ flow }) => flow)
  for (const owner of [step, ...flows]) {
    const returned: unknown = await owner[hook](details as never, turn)
    control.work.check()
    if (Transition.isInstance(returned)) return returned
    if (returned !== undefined) {
      const name = owner === step ? `step '${draft.stepId}'` : `flow '${control.flowName}'`
      throw flowCodeError(`${hook} of ${name} must return nothing or a transition.`)
    }
  }
  throw error
}

function hookFor({ code }: FlowError): 'onModelError' | 'onModelBlocked' | undefined {
  if (code === 'MODEL_BLOCKED') return 'onModelBlocked'
  return code === 'MODEL_ERROR' || code === 'BUDGET_EXCEEDED' ? 'onModelError' : undefined
}

function blockedDetails(error: ModelBlockedError, step: string): ModelBlockedDetails {
  const { provider, model } = error
  return { provider, model, step, error }
}
