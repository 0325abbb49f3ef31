/** What becomes of a turn whose model did not answer: the hooks of the step, and then of the flow, may say. */
import { flowCodeError, type ModelBlockedError } from '../../errors/engine-errors.js'
import { FlowError } from '../../errors/flow-error.js'
import type { Step } from '../../flow/step.js'
import { Transition } from '../../flow/transition.js'
import type { TurnControl } from './turn-control.js'
import type { TurnDraft } from './turn-draft.js'
import type { TurnView } from './turn-view.js'

/**
 * Calls `onModelError` or `onModelBlocked` of the step, then of the flow, until one returns a transition.
 *
 * @throws The error, where neither returns one, or there is no hook for it.
 */
export async function recoverFromModel(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  step: Step,
  error: unknown,
): Promise<Transition> {
  control.check()
  if (!FlowError.isInstance(error)) throw error
  let hook: 'onModelError' | 'onModelBlocked'
  let details: unknown = error
  if (error.code === 'MODEL_BLOCKED') {
    hook = 'onModelBlocked'
    const { provider, model } = error as ModelBlockedError
    details = { provider, model, step: draft.stepId, error }
  } else if (error.code === 'MODEL_ERROR' || error.code === 'BUDGET_EXCEEDED') hook = 'onModelError'
  else throw error
  for (const owner of [step, draft.flow]) {
    const returned: unknown = await owner[hook](details as never, turn)
    control.check()
    if (Transition.isInstance(returned)) return returned
    if (returned !== undefined) {
      const name = owner === step ? `step '${draft.stepId}'` : `flow '${control.flowName}'`
      throw flowCodeError(`${hook} of ${name} must return nothing or a transition.`)
    }
  }
  throw error
}
