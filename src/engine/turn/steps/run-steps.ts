/** Runs steps and applies transitions, from the current step until there is a reply. It changes only the draft. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { BaseStep } from '../../../flow/base-step.js'
import { memoryOf, textMessage } from '../../../flow/conversation-memory.js'
import type { EndStep } from '../../../flow/end-step.js'
import { Flow } from '../../../flow/flow.js'
import { LogicStep } from '../../../flow/logic-step.js'
import { Step } from '../../../flow/step.js'
import { checkBase64, reply as replyTransition, Transition } from '../../../flow/transition.js'
import { isPromise } from '../../../util/observed-promise.js'
import type { TurnReply } from '../../core/run-envelope.js'
import type { TurnControl } from '../control/turn-control.js'
import type { FlowScope } from '../draft/flow-steps.js'
import type { TransitionSource } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { lateCode, loadLate } from '../events/late-code.js'
import { type ModelStepOutcome, runModelStep } from './run-model-step.js'
import { isMove, move, refuseTransition, take } from './take-transition.js'
import { TurnView } from './turn-view.js'

/** Runs steps until the draft has its reply. */
export async function runSteps(control: TurnControl, draft: TurnDraft): Promise<void> {
  const turn = new TurnView(control, draft)
  const open = draft.choicesOf(draft.stepId)
  if (open !== undefined)
    turn.choice = (await loadLate(draft.steps, control.engine)).chosen(control.input, open, control.engine.mask)
  if (draft.currentStep !== null) {
    control.emit('step:resume', { step: draft.currentStep })
    const returned: unknown = draft.steps.require(draft.currentStep).onRestore(turn)
    // Most hooks are not overridden and return nothing, so there is nothing to await.
    if (returned !== undefined) refuseTransition(await returned, 'onRestore', draft.currentStep)
    control.work.check()
  }
  if (control.input.event !== undefined) return runEvent(control, draft, turn)
  const isAnswered = hasOnMessage(draft) && (await askOnMessage(control, draft, turn))
  if (!isAnswered && draft.currentStep === null) await move(control, draft, turn, draft.stepId)
  await runToReply(control, draft, turn)
}

function hasOnMessage({ steps, stepId }: TurnDraft): boolean {
  for (let scope: FlowScope | undefined = steps.scopeOf(stepId); scope !== undefined; scope = scope.outer) {
    if (scope.flow.onMessage !== Flow.prototype.onMessage) return true
  }
  return false
}

/** Has the event taken, and runs steps until the draft has its reply. */
async function runEvent(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<void> {
  // A session that has not begun takes no event, so nothing of it may run.
  if (draft.currentStep === null && draft.turnNumber > 1) await move(control, draft, turn, draft.stepId)
  const { takeEvent } = await lateCode(control.engine)
  const { transition, source } = await takeEvent(control, draft, turn)
  await take(control, draft, turn, transition, source)
  await runToReply(control, draft, turn)
}

/** Runs steps until the draft has its reply, starting with the result of the flow's `onError`. */
export async function runStepsAfterError(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  transition: Transition,
): Promise<void> {
  await take(control, draft, turn, transition, hookOf(draft, control, 'onError', draft.steps.root))
  await runToReply(control, draft, turn)
}

/**
 * Asks the flows that have the current step what to do with the message, the inside one first.
 *
 * @returns whether one of them has decided it
 */
async function askOnMessage(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<boolean> {
  if (turn.message === '' && turn.attachments.length === 0) return false
  for (const scope of draft.steps.flowsFrom(draft.steps.scopeOf(draft.stepId))) {
    if (scope.flow.onMessage === Flow.prototype.onMessage) continue
    const returned: unknown = await scope.flow.onMessage(turn)
    control.work.check()
    const transition = transitionOf(returned, 'onMessage', control.flowName)
    if (transition === undefined) continue
    await take(control, draft, turn, transition, hookOf(draft, control, 'onMessage', scope))
    // No model needs the message or the answer.
    if (!isMove(transition) && draft.answer !== undefined) draft.answer = { ...draft.answer, remembered: true }
    return true
  }
  return false
}

/** A hook of a flow, as the source of a transition. */
function hookOf(draft: TurnDraft, { flowName }: TurnControl, place: string, scope: FlowScope): TransitionSource {
  return { from: draft.stepId, place, owner: `Flow '${flowName}'`, scope }
}

/** The result of a flow hook. */
export function transitionOf(returned: unknown, hook: string, flowName: string): Transition | undefined {
  if (returned === undefined || Transition.isInstance(returned)) return returned
  throw flowCodeError(`${hook} of flow '${flowName}' must return nothing or a transition.`)
}

async function runToReply(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<void> {
  control.work.check()
  for (;;) {
    while (draft.answer === undefined) {
      const { stepId } = draft
      const step = draft.steps.require(stepId)
      const outcome = await runStep(control, draft, turn, step)
      const taking = takeOutcome(control, draft, turn, step, outcome)
      if (taking !== undefined) await taking
    }
    // The end of a called flow is not the end of the session.
    if (!draft.calls?.callers.length || !draft.completed) break
    const { endCall } = await lateCode(control.engine)
    await endCall(control, draft, turn)
  }
  const { reply } = draft
  draft.calls?.check(reply)
  if (reply.encoding === 'base64') checkBase64(reply.text)
  remember(draft, turn, reply)
}

/** The answer of a step, or the move that it decided. */
function takeOutcome(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  step: BaseStep,
  outcome: ModelStepOutcome,
): Promise<void> | undefined {
  const { stepId: from } = draft
  if ('text' in outcome) {
    draft.answer = { text: outcome.text, from, remembered: step instanceof Step }
    return undefined
  }
  const place = step instanceof LogicStep ? 'run' : 'onModelError or onModelBlocked'
  return take(control, draft, turn, outcome.transition, { from, place })
}

/** Runs the current step, until it has an answer or a transition. */
function runStep(control: TurnControl, draft: TurnDraft, turn: TurnView, step: BaseStep): Promise<ModelStepOutcome> {
  if (step instanceof LogicStep) return runLogicStep(control, draft, turn, step)
  if (step instanceof Step) return runModelStep(control, draft, turn, step)
  return runEndStep(control, turn, step as EndStep)
}

async function runEndStep(control: TurnControl, turn: TurnView, step: EndStep): Promise<{ readonly text: string }> {
  const content: unknown = await step.message(turn)
  control.work.check()
  const text = typeof content === 'string' ? content : replyTransition(content as object).fields.reply
  return { text: text ?? '' }
}

async function runLogicStep(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  step: LogicStep,
): Promise<{ readonly transition: Transition }> {
  const running: unknown = step.run(turn)
  const returned = isPromise(running) ? await running : running
  control.work.check()
  if (Transition.isInstance(returned)) return { transition: returned }
  throw flowCodeError(
    `Step '${draft.stepId}' returned ${returned === undefined ? 'nothing' : 'no transition'} from run(). Return go(...), reply(...), stay(...) or finish(...).`,
  )
}

/** Puts a reply that was not made by a model into the memory of its model step, so that the model knows it. */
function remember(draft: TurnDraft, turn: TurnView, reply: TurnReply): void {
  const { answer, steps, memory } = draft
  if (answer === undefined || answer.remembered) return
  const isOfCaller = draft.calls?.callers.some(({ step }) => step === answer.from)
  const first = isOfCaller ? answer.from : draft.stepId
  const second = isOfCaller ? draft.stepId : answer.from
  const namespace = memoryOf(steps.get(first), first) ?? memoryOf(steps.get(second), second)
  if (namespace === undefined) return
  // A model cannot read bytes in base64.
  const text = reply.encoding === undefined ? reply.text : `[${reply.contentType}]`
  // A question in between is not for the steps that run after it is answered.
  const isAsked = turn.event === undefined && turn.answered === undefined
  if (isAsked) memory.appendUserMessage(namespace, turn.message, turn.number, turn.attachments)
  if (text === '') return
  // If a transition sent exactly the model's text, memory already has it.
  const last = memory.last(namespace)
  const part = last?.parts[0]
  if (last?.role === 'assistant' && last.parts.length === 1 && part?.type === 'text' && part.text === text) return
  memory.append(namespace, textMessage('assistant', text, turn.number))
}
