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
import type { TurnDraft } from '../draft/turn-draft.js'
import { TurnEffects } from '../effects/turn-effects.js'
import { type DeclaredEvents, declaredEvents } from './declared-events.js'

/** Payloads in the history have at most so many bytes as JSON. */
const maxPayloadBytes = 1024

/**
 * Has the current step or the flow take the event.
 *
 * @returns the transition of its `execute`; a silent reply if it returns none
 * @throws `EventNotTakenError`, `InvalidInputError`: the session stays untouched
 */
export async function takeEvent(control: TurnControl, draft: TurnDraft, turn: Turn): Promise<Transition> {
  const event = control.input.event as TurnEvent
  // Later attempts, and repeats under a key, have the same one.
  const id = control.input.idempotency?.key ?? control.turnId
  event.seen = Object.freeze({ id, ...event.seen })
  const declared = declaredEvents(draft)
  if (control.after !== undefined) takeOver(control, draft, control.after)
  const isHere = isFor(event, draft, control.engine.clock.now())
  const found = isHere ? find(declared, event) : undefined
  if (found === undefined && isHere && event.source === 'timer') {
    draft.event = entryOf(control, event)
    turn.log.warn(`A timer is removed: no step in use and no flow has an event '${event.name}' any more.`)
    return reply()
  }
  if (found === undefined) throw refuse(control, notTaken(control, event, declared))
  const payload = await payloadFor(found, event).catch((error: unknown) => {
    throw FlowError.isInstance(error) && error.code === 'INVALID_INPUT' ? refuse(control, error) : error
  })
  control.work.check()
  draft.event = entryOf(control, event)
  const returned: unknown = await found.execute(payload, turn)
  control.work.check()
  if (returned === undefined) return reply()
  if (Transition.isInstance(returned)) return returned
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
  { ofStep, ofFlow }: DeclaredEvents = { ofStep: [], ofFlow: [] },
): EventNotTakenError {
  const names = [...ofStep, ...ofFlow].map(({ name }) => name)
  return new EventNotTakenError({ sessionId, event, details: `Its events now: ${names.join(', ') || 'none'}.` })
}

/** Whether the event is for the step's present entry; a timer must still be there, and due. */
function isFor({ name, source, only }: TurnEvent, draft: TurnDraft, now: number): boolean {
  const { base, currentStep, entry, steps } = draft
  // Its first turn is under way in another process, or was rolled back: nothing is known of what the event is about.
  if (base.flow.currentStep === null || draft.completed) return false
  // A deploy may have renamed the step.
  const step = only && (steps.aliases.get(only.step) ?? only.step)
  if (only !== undefined && (step !== currentStep || only.entry !== entry)) return false
  const timer = base.flow.frames?.[0]?.timers?.find((one) => one.name === name)
  return source !== 'timer' || (timer !== undefined && Date.parse(timer.at) <= now)
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

/** The event of the step, or of the flow. A ticket is for the entry of a step. */
function find(declared: DeclaredEvents | undefined, { name, source, only }: TurnEvent): FlowEvent | undefined {
  // A deploy may have given the event of a timer an input.
  const isFit = ({ byUser, input }: FlowEvent): boolean =>
    source === 'user' ? byUser : source !== 'timer' || input === undefined
  const isNamed = (one: FlowEvent): boolean => one.name === name && isFit(one)
  const isForStep = only !== undefined && source !== 'timer'
  return declared?.ofStep.find(isNamed) ?? (isForStep ? undefined : declared?.ofFlow.find(isNamed))
}

/** Adds what a turn has spent and done that met a conflict. */
function takeOver(control: TurnControl, draft: TurnDraft, { draft: lost, effects }: TurnControl): void {
  for (const [name, value] of Object.entries(lost?.usage ?? {}) as [keyof SessionUsage, number][]) {
    draft.usage[name] = (draft.usage[name] ?? 0) + value - (lost?.base.usage[name] ?? 0)
  }
  if (effects !== undefined) control.effects = new TurnEffects(control)
}
