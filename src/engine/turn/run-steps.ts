/**
 * From the current step to the end of the turn: runs steps, applies transitions, and stops at the first one that
 * answers. It changes the draft and nothing else.
 */
import { flowCodeError } from '../../errors/engine-errors.js'
import type { Awaitable } from '../../flow/base-step.js'
import { namespaceOf, textMessage } from '../../flow/conversation-memory.js'
import { EndStep } from '../../flow/end-step.js'
import type { Flow } from '../../flow/flow.js'
import { LogicStep } from '../../flow/logic-step.js'
import { Step } from '../../flow/step.js'
import { checkBase64, reply as replyTransition, Transition } from '../../flow/transition.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { limitExceeded } from '../engine-limits.js'
import type { BudgetCheck } from '../model-call/budget-check.js'
import type { FlowSteps } from './collect-steps.js'
import { plain, type TurnReply } from './run-envelope.js'
import { runModelStep } from './run-model-step.js'
import type { TurnControl } from './turn-control.js'
import type { TurnDraft } from './turn-draft.js'
import type { TurnView } from './turn-view.js'

/** What {@link runSteps} works on, and what its pieces share. */
export interface StepRun {
  readonly control: TurnControl
  readonly draft: TurnDraft
  readonly flow: Flow
  readonly steps: FlowSteps
  readonly turn: TurnView
  /** What the user said, before any `withMessage`. */
  readonly userMessage: string
  /** The model of a model step, and those that stand in for it. */
  readonly modelsOf: (stepId: string) => readonly ResolvedModel[]
  /** `undefined` where nothing is budgeted. */
  readonly budget: BudgetCheck | undefined
  /** Model calls of this turn so far. */
  modelCalls: number
}

/** A reply that was decided on, and the step whose code did. */
interface Answer {
  readonly text: string
  readonly from: string
  /** Whether a model said it, and memory has it already. */
  readonly remembered: boolean
}

/** What is settled so far of a turn under way. */
class Progress {
  answer: Answer | undefined
  transitions = 0
  extraPrompt: string | undefined
}

/** Runs the turn; the draft holds the rest of its outcome. */
export async function runSteps(run: StepRun): Promise<{ readonly reply: TurnReply; readonly completed: boolean }> {
  const { draft, steps, control, turn } = run
  const progress = new Progress()
  if (draft.currentStep === null) await enter(run, progress, steps.initial, undefined)
  else {
    const returned: unknown = steps.require(draft.currentStep).onRestore(turn)
    if (returned !== undefined) await refuseTransition(returned, 'onRestore', draft.currentStep)
  }
  control.check()
  while (progress.answer === undefined) {
    const stepId = draft.currentStep as string
    const step = steps.require(stepId)
    if (step instanceof EndStep) progress.answer = await closing(run, step, stepId)
    else if (step instanceof LogicStep) await apply(run, progress, await runLogicStep(run, step, stepId), stepId, 'run')
    else if (step instanceof Step) {
      const outcome = await runModelStep(run, step, stepId, progress.extraPrompt)
      if ('transition' in outcome) {
        const applying = apply(run, progress, outcome.transition, stepId, 'a tool, onReply or a hook')
        if (applying !== undefined) await applying
      } else progress.answer = { text: outcome.text, from: stepId, remembered: true }
    }
  }
  const stepId = draft.currentStep as string
  const reply = { text: progress.answer.text, contentType: draft.contentType ?? plain, encoding: draft.encoding }
  if (reply.encoding === 'base64') checkBase64(reply.text)
  remember(run, progress.answer, reply)
  return { reply, completed: steps.require(stepId) instanceof EndStep }
}

async function runLogicStep(run: StepRun, step: LogicStep, stepId: string): Promise<Transition> {
  const returned: unknown = await step.run(run.turn)
  run.control.check()
  if (Transition.isInstance(returned)) return returned
  throw flowCodeError(
    `Step '${stepId}' returned ${returned === undefined ? 'nothing' : 'no transition'} from run(). Return go(...), reply(...), stay(...) or finish(...).`,
  )
}

async function closing(run: StepRun, step: EndStep, stepId: string): Promise<Answer> {
  const content: unknown = await step.message(run.turn)
  run.control.check()
  const text = typeof content === 'string' ? content : replyTransition(content as object).fields.reply
  return { text: text ?? '', from: stepId, remembered: false }
}

/** Applies a transition, and those that `onEnter` returns after it. */
function apply(run: StepRun, progress: Progress, transition: Transition, from: string, place: string): Awaitable<void> {
  const { draft, steps } = run
  const { kind, reply, feedback, contentType, encoding } = transition.fields
  if (kind === 'go' || kind === 'finish') {
    if (reply !== undefined) progress.answer = { text: reply, from, remembered: false }
    return enter(run, progress, kind === 'finish' ? steps.end : steps.idOf(transition.fields.target ?? ''), transition)
  }
  const text = kind === 'reply' ? reply : feedback
  if (text === undefined) {
    throw flowCodeError(`Step '${from}' returned stay() without a text from ${place}.`)
  }
  if (contentType !== undefined) {
    draft.contentType = contentType
    draft.encoding = encoding
  }
  progress.answer = { text, from, remembered: false }
}

/** Leaves the current step, if there is one, and enters another. `transition` is undefined at the session's start. */
function enter(run: StepRun, progress: Progress, stepId: string, transition: Transition | undefined): Awaitable<void> {
  const { draft, steps, control, turn } = run
  const { limits } = control.engine
  const left = draft.currentStep
  if (left === null) return arrive(run, progress, stepId, transition)
  if (transition?.fields.kind === 'go' && ++progress.transitions > limits.maxTransitionsPerTurn) {
    throw limitExceeded(
      limits,
      'maxTransitionsPerTurn',
      `The number of moves in one turn (the last one from '${left}' to '${stepId}')`,
    )
  }
  const goOn = (): Awaitable<void> => {
    control.check()
    control.emit('step:exit', { step: left })
    return arrive(run, progress, stepId, transition)
  }
  const returned: unknown = steps.require(left).onExit(turn)
  return returned === undefined ? goOn() : refuseTransition(returned, 'onExit', left).then(goOn)
}

/** Makes a step the current one, and does what its `onEnter` says. */
function arrive(run: StepRun, progress: Progress, stepId: string, transition: Transition | undefined): Awaitable<void> {
  const { draft, steps, control, turn } = run
  if (progress.answer === undefined) control.stream?.reset('step')
  const fields = transition?.fields
  draft.contentType = fields?.contentType
  draft.encoding = fields?.encoding
  draft.enter(stepId, fields?.state)
  turn.entered = true
  turn.message = fields?.message ?? run.userMessage
  progress.extraPrompt = fields?.prompt
  control.emit('step:enter', { step: stepId })
  control.stream?.send({ type: 'step', step: stepId })
  const entered: unknown = steps.require(stepId).onEnter(turn)
  if (entered !== undefined) return applyEntered(run, progress, entered, stepId)
  control.check()
}

async function applyEntered(run: StepRun, progress: Progress, entered: unknown, stepId: string): Promise<void> {
  const returned = await entered
  run.control.check()
  if (returned === undefined) return
  if (!Transition.isInstance(returned)) {
    throw flowCodeError(`onEnter of step '${stepId}' must return nothing or a transition.`)
  }
  if (!(run.steps.require(stepId) instanceof EndStep)) return apply(run, progress, returned, stepId, 'onEnter')
  const { kind, reply, contentType, encoding } = returned.fields
  if (kind === 'go') {
    throw flowCodeError(`onEnter of end step '${stepId}' returned go(...); the session has ended.`)
  }
  if (kind !== 'finish') return apply(run, progress, returned, stepId, 'onEnter')
  // An end step is where finish leads: its content is the closing reply, and there is no further move.
  if (reply !== undefined) progress.answer = { text: reply, from: stepId, remembered: false }
  if (contentType !== undefined) {
    run.draft.contentType = contentType
    run.draft.encoding = encoding
  }
}

async function refuseTransition(returned: unknown, hook: string, stepId: string): Promise<void> {
  if ((await returned) === undefined) return
  throw flowCodeError(`${hook} of step '${stepId}' returned a value; it may not return a transition.`)
}

/** Keeps a reply that no model made in the memory of the model step it belongs to, so that its model knows of it. */
function remember(run: StepRun, answer: Answer, reply: TurnReply): void {
  if (answer.remembered) return
  const { draft, steps, turn } = run
  const stepId = steps.get(draft.currentStep as string) instanceof Step ? (draft.currentStep as string) : answer.from
  if (!(steps.get(stepId) instanceof Step)) return
  const namespace = namespaceOf(steps.require(stepId) as Step, stepId)
  // Bytes say nothing to a model.
  const text = reply.encoding === undefined ? reply.text : `[${reply.contentType}]`
  draft.memory.hear(namespace, turn.message, turn.number, turn.attachments)
  // What the model said word for word, and a transition then sent, is there already.
  const said = draft.memory.last(namespace)
  const part = said?.parts[0]
  if (said?.role === 'assistant' && said.parts.length === 1 && part?.type === 'text' && part.text === text) return
  draft.memory.append(namespace, textMessage('assistant', text, turn.number))
}
