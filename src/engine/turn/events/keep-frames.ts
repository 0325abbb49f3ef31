/** The frames that a turn stores: its open calls with their timers. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowEvent } from '../../../flow/event.js'
import type { SessionDocument, SessionFrame } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { type DeclaredEvents, declaredEvents } from './declared-events.js'
import { scheduleWake } from './schedule-wake.js'

const maxTimers = 8

/**
 * Puts the frames into the draft, and has their first timer scheduled.
 *
 * @throws `FlowCodeError` for events that cannot be used; `FlowError` with the code `SCHEDULE_ERROR`
 */
export async function keepFrames(control: TurnControl, draft: TurnDraft): Promise<void> {
  const declared = declaredEvents(draft)
  const frames = declared.map((one, index) => frameOf(control, draft, declared, one, index))
  const hasTimers = frames.some(({ timers }) => timers !== undefined)
  // A step without events that was not called needs no frame.
  if (frames.length === 1 && !hasTimers && declared[0]?.ofStep.length === 0) return
  draft.frames = frames
  if (hasTimers) await scheduleWake(control, draft)
}

function frameOf(
  control: TurnControl,
  draft: TurnDraft,
  declared: readonly DeclaredEvents[],
  one: DeclaredEvents,
  index: number,
): SessionFrame {
  const { step, entry, called, contentType } = one.call
  const times = dueTimes(control, draft, declared, one, index)
  if (times.size > maxTimers) throw flowCodeError(`Step '${step}' has more than ${maxTimers} timers.`)
  return {
    step,
    entry,
    ...(called !== undefined && { called }),
    ...(contentType !== undefined && { contentType }),
    ...(times.size > 0 && { timers: [...times].map(([name, at]) => ({ name, at: isoTime(at) })) }),
  }
}

/** When each timer of an open call is due, by the name of its event. */
function dueTimes(
  { engine, input: { event } }: TurnControl,
  draft: TurnDraft,
  declared: readonly DeclaredEvents[],
  one: DeclaredEvents,
  index: number,
): Map<string, number> {
  const { base, calls } = draft
  const { ofStep, ofFlow } = one
  const now = engine.clock.now()
  const former = base.flow.frames?.[index]
  const times = new Map(keptTimers(former, one, index).map(({ name, at }) => [name, Date.parse(at)]))
  if (calls?.takenAt === index) times.delete(event?.name ?? '')
  const set = (name: string, ms: number | undefined, from = now): void => {
    if (ms !== undefined) times.set(name, from + ms)
  }
  for (const { name, after, silence } of newEvents(former, one, index)) {
    set(name, after)
    set(name, silence, silenceFrom(base, now, silence))
  }
  // Whatever a user does ends a silence.
  const isSpoken = event === undefined || event.source === 'user'
  for (const { name, silence } of isSpoken ? [...ofStep, ...ofFlow] : []) set(name, silence)
  for (const [name, ms] of timersFor(declared, index)) {
    times.delete(name)
    set(name, ms)
  }
  return times
}

/** The events whose time begins in this turn: of a step that was entered, and of a flow that was called. */
function newEvents(former: SessionFrame | undefined, one: DeclaredEvents, index: number): readonly FlowEvent[] {
  const ofFlow = index > 0 && former?.called !== one.call.called ? one.ofFlow : []
  return isNew(former, one) ? [...one.ofStep, ...ofFlow] : ofFlow
}

function isNew(former: SessionFrame | undefined, { call }: DeclaredEvents): boolean {
  return former?.entry !== call.entry || former.step !== call.step
}

/** The timers that an open call keeps. A flow's silence outlives its steps. */
function keptTimers(
  former: SessionFrame | undefined,
  one: DeclaredEvents,
  index: number,
): NonNullable<SessionFrame['timers']> {
  const { timers = [], called } = former ?? {}
  if (!isNew(former, one)) return timers
  const isOfSameFlow = index === 0 || called === one.call.called
  return isOfSameFlow ? timers.filter(({ name }) => isSilence(one.ofFlow, name)) : []
}

function isSilence(events: readonly FlowEvent[], name: string): boolean {
  return events.some((one) => one.name === name && one.silence !== undefined)
}

/** The timers that the turn has set for the events of an open call, and of the flow that was called there. */
function timersFor(declared: readonly DeclaredEvents[], index: number): [string, number | undefined][] {
  const has = ({ ofStep, ofFlow }: DeclaredEvents, name: string): boolean =>
    [...ofStep, ...ofFlow].some((one) => one.name === name)
  return declared.flatMap((setting, from) =>
    [...(setting.call.timers ?? [])].filter(([name]) => {
      const target = has(setting, name)
        ? from
        : declared.findIndex((one) => one.ofFlow.some((own) => own.name === name))
      return target === index
    }),
  )
}

/**
 * Since when the user is silent: since the last message, or since now if the event would be due at once. Otherwise an
 * event of silence that enters such a step would be followed by the next without end.
 */
function silenceFrom({ history }: SessionDocument, now: number, silence = 0): number {
  const last = history.findLast(({ event }) => event === undefined)
  const from = Date.parse(last?.at ?? '')
  return from + silence > now ? from : now
}
