/**
 * One model call: asks the first model of a list, and if that fails for good, the next one. `attempts.ts` decides how
 * often to ask one model.
 */
import { FlowError } from '../../errors/flow-error.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { limitExceeded } from '../core/engine-limits.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { attemptModel, type CallingDraft } from './attempts.js'
import type { ModelAnswer } from './model-answer.js'
import type { ModelQuestion } from './model-attempt.js'

/**
 * Asks the models of a question until one answers.
 *
 * @throws `ModelError` of the last attempt, `ModelBlockedError` of the first model that refuses, `LimitExceededError`,
 * `BudgetExceededError`
 */
export function chooseModel(control: TurnControl, draft: CallingDraft, question: ModelQuestion): Promise<ModelAnswer> {
  const { limits } = control.engine
  const { stepId } = question
  if (draft.modelCalls >= limits.maxModelCallsPerTurn) {
    throw limitExceeded(limits, 'maxModelCallsPerTurn', `The number of model calls in step '${stepId}'`)
  }
  draft.modelCalls++
  return askFrom(control, draft, question, 0)
}

/** Asks the models of a question, starting at `index`. */
function askFrom(
  control: TurnControl,
  draft: CallingDraft,
  question: ModelQuestion,
  index: number,
): Promise<ModelAnswer> {
  const { models, stepId } = question
  const model = models[index] as ResolvedModel
  return attemptModel(control, draft, question, model).catch((error: unknown) => {
    control.work.check()
    const next = models[index + 1]
    if (next === undefined || !FlowError.isInstance(error) || error.code !== 'MODEL_ERROR') throw error
    draft.budget?.check(draft.usage)
    reportFallback(control, stepId, model, next)
    return askFrom(control, draft, question, index + 1)
  })
}

function reportFallback(control: TurnControl, step: string, from: ResolvedModel, to: ResolvedModel): void {
  control.stream?.reset('fallback')
  if (!control.hasListeners('model:fallback')) return
  const { provider, name: model } = from.selection
  const { provider: toProvider, name: toModel } = to.selection
  control.emit('model:fallback', { step, provider, model, toProvider, toModel })
}
