/** Applies a transition to the draft: its reply, and the move to another step. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { BaseStep } from '../../../flow/base-step.js'
import { EndStep } from '../../../flow/end-step.js'
import { Step } from '../../../flow/step.js'
import { Transition } from '../../../flow/transition.js'
import { limitExceeded } from '../../core/engine-limits.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TransitionSource } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { type EnteringTurn, lateCode, loadLate } from '../events/late-code.js'

/** A step that is returned to. */
interface Returning {
  /** Replaces the user's message; `undefined`: the user's message. */
  readonly message: string | undefined
  readonly returned: EnteringTurn['returned']
}

/** Applies a transition; synchronously if the conversation stays in its step. */
export function take(
  control: TurnControl,
  draft: TurnDraft,
  turn: EnteringTurn,
  transition: Transition,
  source: TransitionSource,
): Promise<void> | undefined {
  const { kind, lead } = transition.fields
  const isLeaving = kind === 'go' || kind === 'finish'
  if (kind === 'call' || kind === 'back' || lead !== undefined || (isLeaving && draft.calls?.callers.length)) {
    return lateCode(control.engine).then(({ followCall }) => followCall(control, draft, turn, transition, source))
  }
  const target = applyTransition(draft, transition, source)
  return target === undefined ? undefined : move(control, draft, turn, target, transition)
}

/**
 * Applies the reply of a transition.
 *
 * @returns the step to move to; `undefined` if the conversation stays in its step
 */
function applyTransition(draft: TurnDraft, { fields }: Transition, source: TransitionSource): string | undefined {
  const { steps } = draft
  const { kind, reply, feedback, target } = fields
  const { from, place, scope = steps.scopeOf(from) } = source
  if (kind === 'go' || kind === 'finish') {
    answer(draft, fields, from, reply)
    return kind === 'finish' ? steps.root.end : steps.idOf(target ?? '', scope)
  }
  if (kind === 'retry') {
    throw flowCodeError(
      `${sourceName(source)} returned retry() from ${place}. Only onReply and tools may: return reply(text) to answer the user.`,
    )
  }
  const text = kind === 'reply' ? reply : feedback
  if (text === undefined) {
    throw flowCodeError(`${sourceName(source)} returned stay() without a text from ${place}.`)
  }
  answer(draft, fields, from, text)
  return undefined
}

/** Who has returned a transition, for error messages. */
export function sourceName({ from, owner }: TransitionSource): string {
  return owner ?? `Step '${from}'`
}

/** Gives the draft its reply, if the transition has one. */
export function answer(
  draft: TurnDraft,
  { contentType, encoding, parts }: Partial<Transition['fields']>,
  from: string,
  text: string | undefined,
): void {
  if (text !== undefined) draft.answer = { text, from, remembered: false, contentType, encoding, parts }
}

/**
 * Leaves the current step, if there is one, enters another, and applies what its `onEnter` returns.
 *
 * @param transition - The transition that led there. Default: the session begins.
 */
export function move(
  control: TurnControl,
  draft: TurnDraft,
  turn: EnteringTurn,
  to: string,
  transition?: Transition,
): Promise<void> {
  const from = draft.currentStep
  if (from !== null) {
    if (transition?.fields.kind === 'go') countMove(control, draft, from, to)
    // Most steps have nothing to wait for.
    const leaving = leave(control, draft, turn)
    if (leaving !== undefined) return leaving.then(() => enter(control, draft, turn, to, transition))
  }
  return enter(control, draft, turn, to, transition)
}

/** Leaves the current step. */
export function leave(control: TurnControl, draft: TurnDraft, turn: EnteringTurn): Promise<void> | undefined {
  const { stepId } = draft
  const returned: unknown = draft.steps.require(stepId).onExit(turn)
  if (returned === undefined) {
    left(control, draft, stepId)
    return undefined
  }
  return Promise.resolve(returned).then((value) => {
    refuseTransition(value, 'onExit', stepId)
    left(control, draft, stepId)
  })
}

function left(control: TurnControl, draft: TurnDraft, step: string): void {
  control.work.check()
  // It was loaded for the list that a step began the turn with.
  if (draft.choicesOf(step) !== undefined) draft.steps.late?.setChoices(draft, step, undefined)
  control.emit('step:exit', { step })
}

/** Enters a step, and applies what its `onEnter` returns. */
export async function enter(
  control: TurnControl,
  draft: TurnDraft,
  turn: EnteringTurn,
  to: string,
  transition?: Transition,
  back?: Returning,
): Promise<void> {
  if (draft.answer === undefined) control.stream?.reset('step')
  // `migrate` may have moved the session away from its list.
  if (draft.choicesOf(to) !== undefined) (await loadLate(draft.steps, control.engine)).setChoices(draft, to, undefined)
  draft.enter(to, transition?.fields)
  const step = draft.steps.require(to)
  const message = back?.message ?? transition?.fields.message ?? questionOf(control, turn, step)
  turn.enter(message, back?.returned)
  control.emit('step:enter', { step: to })
  control.stream?.send({ type: 'step', step: to })
  const entered: unknown = step.onEnter(turn)
  const next: unknown = entered === undefined ? undefined : await entered
  control.work.check()
  if (next !== undefined) await applyEntered(control, draft, turn, to, next)
}

/** Counts a move. @throws `LimitExceededError` */
export function countMove({ engine }: TurnControl, draft: TurnDraft, from: string, to: string): void {
  if (++draft.moves <= engine.limits.maxTransitionsPerTurn) return
  const problem = `The number of moves in one turn (the last one from '${from}' to '${to}')`
  throw limitExceeded(engine.limits, 'maxTransitionsPerTurn', problem)
}

/** Applies the result of a step's `onEnter`. */
async function applyEntered(
  control: TurnControl,
  draft: TurnDraft,
  turn: EnteringTurn,
  stepId: string,
  returned: unknown,
): Promise<void> {
  if (!Transition.isInstance(returned)) {
    throw flowCodeError(`onEnter of step '${stepId}' must return nothing or a transition.`)
  }
  const { kind } = returned.fields
  if (draft.steps.require(stepId) instanceof EndStep) {
    if (isMove(returned)) {
      throw flowCodeError(`onEnter of end step '${stepId}' returned ${kind}(...); the flow has ended.`)
    }
    if (kind === 'finish') return finishInEndStep(draft, stepId, returned)
  }
  await take(control, draft, turn, returned, { from: stepId, place: 'onEnter' })
}

/** `finish` leads to an end step. Its reply is the closing one, and there is no further move. */
function finishInEndStep(draft: TurnDraft, stepId: string, { fields }: Transition): void {
  const { reply, contentType } = fields
  answer(draft, fields, stepId, reply)
  if (reply === undefined && contentType !== undefined) draft.nextReply = fields
}

/** Whether a transition leads to another step of the flow. */
export function isMove({ fields: { kind } }: Transition): boolean {
  return kind === 'go' || kind === 'call' || kind === 'back'
}

/** @throws `FlowCodeError` if a hook that may not return anything did */
export function refuseTransition(returned: unknown, hook: string, stepId: string): void {
  if (returned === undefined) return
  throw flowCodeError(`${hook} of step '${stepId}' returned a value; it may not return a transition.`)
}

/** What a model answers if the user's message is not for it: after a question in between, and after an event. */
function questionOf({ input: { event } }: TurnControl, { answered }: EnteringTurn, step: BaseStep): string | undefined {
  if (!(step instanceof Step)) return undefined
  return answered ?? (event && `Event: ${event.name}`)
}
