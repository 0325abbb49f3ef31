/** The event of a turn: who takes it, and what they do. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError, invalidInput } from '../../../errors/engine-errors.js'
import { type AnyFlowError, FlowError } from '../../../errors/flow-error.js'
import { EventNotTakenError } from '../../../errors/session-errors.js'
import type { FlowEvent } from '../../../flow/event.js'
import { reply, Transition } from '../../../flow/transition.js'
import type { Turn } from '../../../flow/turn.js'
import { issueText } from '../../../model/schema-issues.js'
import type { SessionUsage } from '../../../session/session-document.js'
import { deepFreeze, jsonSize } from '../../../util/json.js'
import { maskJson, maskText } from '../../core/mask-text.js'
import type { TurnEvent } from '../../core/turn-input.js'
import type { TurnControl } from '../control/turn-control.js'
import { callsOf } from '../draft/call-stack.js'
import type { FlowScope } from '../draft/flow-steps.js'
import type { TransitionSource } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { TurnEffects } from '../effects/turn-effects.js'
import { type DeclaredEvents, declaredEvents } from './declared-events.js'

/** Payloads in the history have at most so many bytes as JSON. */
const maxPayloadBytes = 1024

/** A transition, and who has returned it. */
interface Taken {
  readonly transition: Transition
  readonly source: TransitionSource
}

/** The event, and the open call that takes it. */
interface Found {
  /** `undefined` if the event of a timer no longer exists. */
  readonly event: FlowEvent | undefined
  readonly at: number
  /** The flow, if the event is one of a flow's. */
  readonly scope: FlowScope | undefined
}

/**
 * Has one of the open calls, or a flow, take the event.
 *
 * @returns the transition of its `execute`; a silent reply if it returns none
 * @throws `EventNotTakenError`, `InvalidInputError`: the session stays untouched
 */
export async function takeEvent(control: TurnControl, draft: TurnDraft, turn: Turn): Promise<Taken> {
  const event = control.input.event as TurnEvent
  // Later attempts, and repeats under a key, have the same one.
  const id = control.input.idempotency?.key ?? control.turnId
  event.seen = Object.freeze({ id, ...event.seen })
  const declared = declaredEvents(draft)
  if (control.after !== undefined) takeOver(control, draft, control.after)
  const found = find(draft, declared, event, control.engine.clock.now())
  if (found === undefined) throw refuse(control, notTaken(control, event, declared))
  const { at, scope } = found
  const from = scope === undefined ? (declared[at] as DeclaredEvents).call.step : draft.stepId
  const source = { from, place: 'execute', owner: `Event '${event.name}'`, scope, at }
  const calls = callsOf(draft)
  calls.takenAt = at
  if (found.event === undefined) {
    draft.event = entryOf(control, event)
    turn.log.warn(`A timer is removed: no step in use and no flow has an event '${event.name}' any more.`)
    return { transition: reply(), source }
  }
  const payload = await payloadFor(found.event, event).catch((error: unknown) => {
    throw FlowError.isInstance(error) && error.code === 'INVALID_INPUT' ? refuse(control, error) : error
  })
  control.work.check()
  draft.event = entryOf(control, event)
  calls.handler = calls.callers[at]
  const returned: unknown = await found.event.execute(payload, turn)
  calls.handler = undefined
  control.work.check()
  if (returned === undefined) return { transition: reply(), source }
  if (Transition.isInstance(returned)) return { transition: returned, source }
  throw flowCodeError(`Event '${event.name}' must return nothing or a transition from execute().`)
}

/** Leaves the session untouched. */
function refuse(control: TurnControl, error: AnyFlowError): FlowError {
  control.draft = undefined
  return control.work.own(error)
}

function notTaken(
  { sessionId }: TurnControl,
  { name: event }: TurnEvent,
  declared: readonly DeclaredEvents[],
): EventNotTakenError {
  const names = declared.flatMap(({ ofStep, ofFlow }) => [...ofStep, ...ofFlow]).map(({ name }) => name)
  return new EventNotTakenError({ sessionId, event, details: `Its events now: ${names.join(', ') || 'none'}.` })
}

/** @throws `InvalidInputError` */
async function payloadFor({ input }: FlowEvent, { name, payload }: TurnEvent): Promise<unknown> {
  if (input === undefined) return undefined
  const { issues, value } = (await input['~standard'].validate(payload)) as StandardSchemaV1.SuccessResult<unknown>
  if (issues === undefined) return value
  throw invalidInput(`The payload of event '${name}' does not fit: ${issueText(issues)}.`)
}

/** The event as the history stores it. */
function entryOf({ engine: { mask } }: TurnControl, { payload, seen }: TurnEvent): TurnDraft['event'] {
  const masked = (text: string): string => (mask && text !== '' ? maskText(mask, text, 'message') : text)
  const stored = payload === undefined ? undefined : maskJson(masked, payload, 'message')
  const isKept = stored !== undefined && jsonSize(stored) <= maxPayloadBytes
  const { about: _about, id: _id, ...sender } = seen
  return deepFreeze({ ...sender, ...(isKept && { payload: stored }) })
}

/** The event of the innermost open call that takes it: of its step, then of the flow that begins there. */
function find(draft: TurnDraft, declared: readonly DeclaredEvents[], event: TurnEvent, now: number): Found | undefined {
  const { base, steps } = draft
  // Its first turn is under way in another process, or was rolled back: nothing is known of what the event is about.
  if (base.flow.currentStep === null || draft.completed) return undefined
  const { only, source } = event
  // A deploy may have renamed the step.
  const step = only && (steps.aliases.get(only.step) ?? only.step)
  const isMeant = ({ call }: DeclaredEvents): boolean =>
    only === undefined || (call.step === step && call.entry === only.entry)
  const found = declared.map((one, at) => (isMeant(one) ? findIn(one, at, event) : undefined))
  if (source !== 'timer') return found.findLast((one) => one !== undefined)
  const at = declared.findLastIndex(isMeant)
  // The timer of an event that no longer exists is removed.
  return isDue(draft, at, event, now) ? (found[at] ?? { event: undefined, at, scope: undefined }) : undefined
}

function findIn(
  { ofStep, ofFlow, scope }: DeclaredEvents,
  at: number,
  { name, source, only }: TurnEvent,
): Found | undefined {
  // A deploy may have given the event of a timer an input.
  const isFit = ({ byUser, input }: FlowEvent): boolean =>
    source === 'user' ? byUser : source !== 'timer' || input === undefined
  const isNamed = (one: FlowEvent): boolean => one.name === name && isFit(one)
  const event = ofStep.find(isNamed)
  if (event !== undefined) return { event, at, scope: undefined }
  // A ticket is for a step.
  const ofItsFlow = only !== undefined && source !== 'timer' ? undefined : ofFlow.find(isNamed)
  return ofItsFlow && { event: ofItsFlow, at, scope }
}

function isDue({ base }: TurnDraft, at: number, { name }: TurnEvent, now: number): boolean {
  const timer = base.flow.frames?.[at]?.timers?.find((one) => one.name === name)
  return timer !== undefined && Date.parse(timer.at) <= now
}

/** Adds what a turn has spent and done that met a conflict. */
function takeOver(control: TurnControl, draft: TurnDraft, { draft: lost, effects }: TurnControl): void {
  for (const [name, value] of Object.entries(lost?.usage ?? {}) as [keyof SessionUsage, number][]) {
    draft.usage[name] = (draft.usage[name] ?? 0) + value - (lost?.base.usage[name] ?? 0)
  }
  if (effects !== undefined) control.effects = new TurnEffects(control)
}
