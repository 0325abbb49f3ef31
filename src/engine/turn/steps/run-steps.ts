/** Runs steps and applies transitions, from the current step until there is a reply. It changes only the draft. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { BaseStep } from '../../../flow/base-step.js'
import { namespaceOf, textMessage } from '../../../flow/conversation-memory.js'
import { EndStep } from '../../../flow/end-step.js'
import { Flow } from '../../../flow/flow.js'
import { LogicStep } from '../../../flow/logic-step.js'
import { Step } from '../../../flow/step.js'
import { checkBase64, reply as replyTransition, Transition } from '../../../flow/transition.js'
import { isPromise } from '../../../util/observed-promise.js'
import { limitExceeded } from '../../core/engine-limits.js'
import type { TurnReply } from '../../core/run-envelope.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { lateParts } from '../events/late-parts.js'
import { type ModelStepOutcome, runModelStep } from './run-model-step.js'
import { TurnView } from './turn-view.js'

/** Runs steps until the draft has its reply. */
export async function runSteps(control: TurnControl, draft: TurnDraft): Promise<void> {
  const turn = new TurnView(control, draft)
  if (draft.currentStep !== null) {
    control.emit('step:resume', { step: draft.currentStep })
    const returned: unknown = draft.steps.require(draft.currentStep).onRestore(turn)
    // Most hooks are not overridden and return nothing, so there is nothing to await.
    if (returned !== undefined) refuseTransition(await returned, 'onRestore', draft.currentStep)
    control.work.check()
  }
  if (control.input.event !== undefined) return runEvent(control, draft, turn)
  const hasHook = draft.flow.onMessage !== Flow.prototype.onMessage
  const transition = hasHook ? await askOnMessage(control, draft, turn) : undefined
  if (transition !== undefined) {
    await follow(control, draft, turn, transition, 'onMessage')
    // No model needs the message or the answer.
    if (transition.fields.kind !== 'go' && draft.answer !== undefined)
      draft.answer = { ...draft.answer, remembered: true }
  } else if (draft.currentStep === null) await move(control, draft, turn, draft.stepId)
  await runToReply(control, draft, turn)
}

/** Has the event taken, and runs steps until the draft has its reply. */
async function runEvent(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<void> {
  // A session that has not begun takes no event, so nothing of it may run.
  if (draft.currentStep === null && draft.turnNumber > 1) await move(control, draft, turn, draft.stepId)
  const { stepId } = draft
  const { takeEvent } = await lateParts(control.engine)
  const transition = await takeEvent(control, draft, turn)
  const target = applyTransition(draft, transition, stepId, 'execute', `Event '${turn.event?.name}'`)
  if (target !== undefined) await move(control, draft, turn, target, transition)
  await runToReply(control, draft, turn)
}

/** Runs steps until the draft has its reply, starting with the result of the flow's `onError`. */
export async function runStepsAfterError(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  transition: Transition,
): Promise<void> {
  await follow(control, draft, turn, transition, 'onError')
  await runToReply(control, draft, turn)
}

/** The result of the flow's `onMessage`, if the user sent anything. */
async function askOnMessage(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<Transition | undefined> {
  if (turn.message === '' && turn.attachments.length === 0) return undefined
  const returned: unknown = await draft.flow.onMessage(turn)
  control.work.check()
  return transitionOf(returned, 'onMessage', control.flowName)
}

/** The result of a flow hook. */
export function transitionOf(returned: unknown, hook: string, flowName: string): Transition | undefined {
  if (returned === undefined || Transition.isInstance(returned)) return returned
  throw flowCodeError(`${hook} of flow '${flowName}' must return nothing or a transition.`)
}

/** Applies the transition that a flow hook returned. */
async function follow(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  transition: Transition,
  hook: string,
): Promise<void> {
  const target = applyTransition(draft, transition, draft.stepId, hook, `Flow '${control.flowName}'`)
  if (target !== undefined) await move(control, draft, turn, target, transition)
}

async function runToReply(control: TurnControl, draft: TurnDraft, turn: TurnView): Promise<void> {
  control.work.check()
  while (draft.answer === undefined) {
    const { stepId } = draft
    const step = draft.steps.require(stepId)
    const outcome = await runStep(control, draft, turn, step)
    if ('text' in outcome) {
      draft.answer = { text: outcome.text, from: stepId, remembered: step instanceof Step }
      continue
    }
    const { transition } = outcome
    const place = step instanceof LogicStep ? 'run' : 'onModelError or onModelBlocked'
    const target = applyTransition(draft, transition, stepId, place)
    if (target !== undefined) await move(control, draft, turn, target, transition)
  }
  const { reply } = draft
  if (reply.encoding === 'base64') checkBase64(reply.text)
  remember(draft, turn, reply)
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

/**
 * Applies the reply of a transition.
 *
 * @param from - The step that returned it.
 * @param place - The function that returned it, for error messages.
 * @param owner - The step or flow that returned it, for error messages.
 * @returns the step to move to; `undefined` if the conversation stays in its step
 */
function applyTransition(
  draft: TurnDraft,
  { fields }: Transition,
  from: string,
  place: string,
  owner = `Step '${from}'`,
): string | undefined {
  const { kind, reply, feedback, contentType, encoding, target } = fields
  if (kind === 'go' || kind === 'finish') {
    if (reply !== undefined) draft.answer = { text: reply, from, remembered: false, contentType, encoding }
    return kind === 'finish' ? draft.steps.end : draft.steps.idOf(target ?? '')
  }
  if (kind === 'retry') {
    throw flowCodeError(
      `${owner} returned retry() from ${place}. Only onReply and tools may: return reply(text) to answer the user.`,
    )
  }
  const text = kind === 'reply' ? reply : feedback
  if (text === undefined) {
    throw flowCodeError(`${owner} returned stay() without a text from ${place}.`)
  }
  draft.answer = { text, from, remembered: false, contentType, encoding }
  return undefined
}

/**
 * Leaves the current step, if there is one, enters another, and applies what its `onEnter` returns.
 *
 * @param transition - The transition that led there. Default: the session begins.
 */
async function move(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  to: string,
  transition?: Transition,
): Promise<void> {
  const from = draft.currentStep
  if (from !== null) {
    if (transition?.fields.kind === 'go') countMove(control, draft, from, to)
    const returned: unknown = draft.steps.require(from).onExit(turn)
    if (returned !== undefined) refuseTransition(await returned, 'onExit', from)
    control.work.check()
    control.emit('step:exit', { step: from })
  }
  if (draft.answer === undefined) control.stream?.reset('step')
  draft.enter(to, transition?.fields)
  turn.enter(transition?.fields.message ?? questionOf(control, draft.steps.require(to)))
  control.emit('step:enter', { step: to })
  control.stream?.send({ type: 'step', step: to })
  const entered: unknown = draft.steps.require(to).onEnter(turn)
  const next: unknown = entered === undefined ? undefined : await entered
  control.work.check()
  if (next !== undefined) await applyEntered(control, draft, turn, to, next)
}

function countMove({ engine }: TurnControl, draft: TurnDraft, from: string, to: string): void {
  if (++draft.moves <= engine.limits.maxTransitionsPerTurn) return
  const problem = `The number of moves in one turn (the last one from '${from}' to '${to}')`
  throw limitExceeded(engine.limits, 'maxTransitionsPerTurn', problem)
}

/** Applies the result of a step's `onEnter`. */
async function applyEntered(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  stepId: string,
  returned: unknown,
): Promise<void> {
  if (!Transition.isInstance(returned)) {
    throw flowCodeError(`onEnter of step '${stepId}' must return nothing or a transition.`)
  }
  const { kind } = returned.fields
  if (draft.steps.require(stepId) instanceof EndStep) {
    if (kind === 'go') {
      throw flowCodeError(`onEnter of end step '${stepId}' returned go(...); the session has ended.`)
    }
    if (kind === 'finish') return finishInEndStep(draft, stepId, returned)
  }
  const target = applyTransition(draft, returned, stepId, 'onEnter')
  if (target !== undefined) await move(control, draft, turn, target, returned)
}

/** `finish` leads to an end step. Its reply is the closing one, and there is no further move. */
function finishInEndStep(draft: TurnDraft, stepId: string, { fields }: Transition): void {
  const { reply, contentType, encoding } = fields
  if (reply !== undefined) draft.answer = { text: reply, from: stepId, remembered: false, contentType, encoding }
  else if (contentType !== undefined) draft.nextReply = fields
}

/** The memory namespace of a step, if it has one. */
function memoryOf(steps: TurnDraft['steps'], stepId: string): string | undefined {
  const step = steps.get(stepId)
  const remembers = step instanceof Step || (step instanceof LogicStep && step.memory !== undefined)
  return remembers ? namespaceOf(step, stepId) : undefined
}

function refuseTransition(returned: unknown, hook: string, stepId: string): void {
  if (returned === undefined) return
  throw flowCodeError(`${hook} of step '${stepId}' returned a value; it may not return a transition.`)
}

/** What a model that an event leads to answers. */
function questionOf({ input: { event } }: TurnControl, step: BaseStep): string | undefined {
  return event !== undefined && step instanceof Step ? `Event: ${event.name}` : undefined
}

/** Puts a reply that was not made by a model into the memory of its model step, so that the model knows it. */
function remember(draft: TurnDraft, turn: TurnView, reply: TurnReply): void {
  const { answer, steps, memory } = draft
  if (answer === undefined || answer.remembered) return
  const namespace = memoryOf(steps, draft.stepId) ?? memoryOf(steps, answer.from)
  if (namespace === undefined) return
  // A model cannot read bytes in base64.
  const text = reply.encoding === undefined ? reply.text : `[${reply.contentType}]`
  if (turn.event === undefined) memory.appendUserMessage(namespace, turn.message, turn.number, turn.attachments)
  if (text === '') return
  // If a transition sent exactly the model's text, memory already has it.
  const last = memory.last(namespace)
  const part = last?.parts[0]
  if (last?.role === 'assistant' && last.parts.length === 1 && part?.type === 'text' && part.text === text) return
  memory.append(namespace, textMessage('assistant', text, turn.number))
}
