/** Applies transitions that open a call, return from one, or leave steps while calls are open. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { memoryOf } from '../../../flow/conversation-memory.js'
import { EndStep } from '../../../flow/end-step.js'
import { Step } from '../../../flow/step.js'
import type { Transition, TransitionFields } from '../../../flow/transition.js'
import { plain } from '../../core/run-envelope.js'
import type { TurnControl } from '../control/turn-control.js'
import { addLead, addLeadParts, callsOf, notEntered, openCalls, popCaller, pushCaller } from '../draft/call-stack.js'
import type { FlowScope, FlowSteps } from '../draft/flow-steps.js'
import type { TransitionSource as Source } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import type { EnteringTurn } from '../events/late-code.js'
import { answer, countMove, enter, leave as leaveStep, sourceName } from '../steps/take-transition.js'

/** Open calls, the current step included. */
const maxOpen = 8

/** The three objects of a turn that moves between steps. */
interface Moving {
  readonly control: TurnControl
  readonly draft: TurnDraft
  readonly turn: EnteringTurn
}

/** Applies a `call`, a `back`, a `go` or a `finish`. */
export function followCall(
  control: TurnControl,
  draft: TurnDraft,
  turn: EnteringTurn,
  transition: Transition,
  source: Source,
): Promise<void> {
  const moves = { control, draft, turn }
  const { kind } = transition.fields
  if (kind === 'call') return openCall(moves, transition, source)
  if (kind === 'back') return goBack(moves, transition.fields, source)
  return kind === 'finish' ? finishFlow(moves, transition, source) : goTo(moves, transition, source)
}

/** Returns from a called flow, which has come to its end: its closing text comes before the next reply. */
export async function endCall(control: TurnControl, draft: TurnDraft, turn: EnteringTurn): Promise<void> {
  const calls = callsOf(draft)
  const { text, contentType, encoding } = draft.reply
  if (contentType !== plain || encoding !== undefined) {
    throw flowCodeError(
      `The called flow '${calls.called}' may not finish with ${contentType}: its text becomes a part of another reply.`,
    )
  }
  const { text: own = '', parts } = draft.answer ?? {}
  draft.answer = undefined
  calls.lead = text === '' ? undefined : text
  addLeadParts(calls, parts)
  await returnFrom({ control, draft, turn }, own === '' ? {} : { lead: own })
}

async function openCall(moves: Moving, transition: Transition, source: Source): Promise<void> {
  const { draft } = moves
  const { steps } = draft
  const { target = '' } = transition.fields
  const { from, scope = steps.scopeOf(from) } = source
  const called = steps.find(target, scope) ?? steps.idOf(target, scope)
  const flow = steps.scopes?.get(called)
  const to = flow?.initial ?? called
  const refuse = (problem: string): Error => flowCodeError(`call('${called}') is not possible: ${problem}.`)
  if (steps.get(to) instanceof EndStep) throw refuse('it is an end step')
  const entered = outermostNew(draft, flow ?? steps.scopeOf(to))
  if (flow === undefined && entered !== undefined) throw refuse(`call its flow, '${idOf(entered)}'`)
  const isOpen = openCalls(draft).some(
    ({ step }) => step === to || (flow !== undefined && step.startsWith(flow.prefix)),
  )
  if (isOpen) throw refuse('it is open already')
  if (openCalls(draft).length >= maxOpen) throw refuse(`${maxOpen} steps are open`)
  count(moves, to)
  beginAgain(draft, entered)
  pushCaller(draft, called)
  answer(draft, transition.fields, to, transition.fields.reply)
  addLead(draft, transition.fields)
  await enter(moves.control, draft, moves.turn, to, transition)
}

async function goBack(moves: Moving, fields: TransitionFields, source: Source): Promise<void> {
  const { draft } = moves
  const at = placeOf(draft, source)
  if (at === 0) {
    const isOuter = source.scope !== undefined && openCalls(draft).length > 1
    const reason = isOuter ? 'the outer flow was not called' : 'it was not called'
    throw flowCodeError(`${sourceName(source)} returned back(), but ${reason}. Return go(...) instead.`)
  }
  await unwind(moves, at)
  addLead(draft, fields)
  await returnFrom(moves, fields)
}

async function finishFlow(moves: Moving, transition: Transition, source: Source): Promise<void> {
  const { draft } = moves
  const { steps } = draft
  const scope = source.scope ?? steps.scopeOf(source.from)
  const at = calledAt(draft, scope, placeOf(draft, source))
  const end = at === undefined ? steps.root.end : (steps.scopes?.get(openCalls(draft)[at]?.called ?? '')?.end as string)
  await replace(moves, at ?? 0, end, transition, source)
}

async function goTo(moves: Moving, transition: Transition, source: Source): Promise<void> {
  const { draft } = moves
  const { steps } = draft
  const { from, scope = steps.scopeOf(from) } = source
  const to = steps.idOf(transition.fields.target ?? '', scope)
  count(moves, to)
  let at = placeOf(draft, source)
  // An end step ends its flow.
  if (steps.require(to) instanceof EndStep) at = calledAt(draft, steps.scopeOf(to), at) ?? 0
  const open = openCalls(draft).findIndex(({ step }) => step === to)
  await replace(moves, open === -1 ? at : Math.min(open, at), to, transition, source)
}

/** Leaves the open calls from one place on, and enters a step there. */
async function replace(moves: Moving, at: number, to: string, transition: Transition, source: Source): Promise<void> {
  const { draft } = moves
  await unwind(moves, at)
  await leave(moves)
  answer(draft, transition.fields, source.from, transition.fields.reply)
  addLead(draft, transition.fields)
  await enter(moves.control, draft, moves.turn, to, transition)
}

/** Leaves the current step, and goes on in the one that has called it. */
async function returnFrom(
  moves: Moving,
  { lead, message, value, ...fields }: Partial<TransitionFields>,
): Promise<void> {
  const { control, draft, turn } = moves
  const { called: from = draft.stepId, callers } = callsOf(draft)
  count(moves, callers.at(-1)?.step ?? '')
  await leave(moves)
  popCaller(draft)
  const { stepId } = draft
  turn.answered = `Returned from ${from}${lead === undefined ? '.' : `: ${lead}`}`
  const said = message ?? (draft.steps.require(stepId) instanceof Step ? turn.answered : undefined)
  const returned = Object.freeze(value === undefined ? { from } : { from, value })
  answer(draft, fields, stepId, fields.reply)
  if (draft.entry === notEntered) return enter(control, draft, turn, stepId, undefined, { message: said, returned })
  draft.note(stepId)
  turn.enter(said, returned)
  control.emit('step:resume', { step: stepId })
  control.stream?.reset('step')
  control.stream?.send({ type: 'step', step: stepId })
}

/** Leaves the steps above one of the open calls. */
async function unwind(moves: Moving, at: number): Promise<void> {
  const { draft } = moves
  while (callsOf(draft).callers.length > at) {
    await leave(moves)
    popCaller(draft)
  }
}

/** Leaves the current step, if it was entered. */
async function leave({ control, draft, turn }: Moving): Promise<void> {
  if (draft.currentStep !== null && draft.entry !== notEntered) await leaveStep(control, draft, turn)
}

function count({ control, draft }: Moving, to: string): void {
  countMove(control, draft, draft.stepId, to)
}

/** Which of the open calls a transition applies to. */
function placeOf(draft: TurnDraft, { scope, at }: Source): number {
  const open = openCalls(draft)
  const last = open.length - 1
  if (scope === undefined) return at ?? last
  if (scope.outer === undefined) return 0
  const called = open.findLastIndex((one) => one.called === idOf(scope))
  return called === -1 ? last : called
}

/**
 * The place of the innermost called flow around a scope among the open calls; `undefined` if none of the flows was called.
 *
 * @param last - Later open calls do not count.
 */
function calledAt(draft: TurnDraft, scope: FlowScope, last: number): number | undefined {
  const open = openCalls(draft)
  const places = draft.steps
    .flowsFrom(scope)
    .map((flow) => open.findLastIndex(({ called }, index) => index <= last && called === idOf(flow)))
  return places.find((at) => at !== -1)
}

function idOf({ prefix }: FlowScope): string {
  return prefix.slice(0, -1)
}

/** The outermost flow around a target of which no step is open; `undefined` if there is none. */
function outermostNew(draft: TurnDraft, target: FlowScope): FlowScope | undefined {
  const open = openCalls(draft)
  // Every step begins with the empty prefix of the session's flow.
  return draft.steps.flowsFrom(target).findLast(({ prefix }) => !open.some(({ step }) => step.startsWith(prefix)))
}

/** Empties the states of a flow's steps, and the memories that no step outside shares. */
function beginAgain(draft: TurnDraft, flow: FlowScope | undefined): void {
  if (flow === undefined) return
  const { steps, memory, turnNumber } = draft
  const isInside = (stepId: string): boolean => stepId.startsWith(flow.prefix)
  for (const stepId of steps.all().keys()) {
    if (!isInside(stepId)) continue
    callsOf(draft).fresh.add(stepId)
    draft.forget(stepId)
  }
  const outside = memoriesOf(steps, (stepId) => !isInside(stepId))
  for (const namespace of memoriesOf(steps, isInside)) {
    if (!outside.has(namespace) && memory.namespaces.includes(namespace)) memory.clear(namespace, turnNumber, false)
  }
}

function memoriesOf(steps: FlowSteps, isMeant: (stepId: string) => boolean): ReadonlySet<string> {
  const namespaces = new Set<string>()
  for (const [stepId, step] of steps.all()) {
    const namespace = isMeant(stepId) ? memoryOf(step, stepId) : undefined
    if (namespace !== undefined) namespaces.add(namespace)
  }
  return namespaces
}
