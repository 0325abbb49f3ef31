/** At the end of a turn: what its step waits for, and the timers of that. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowEvent } from '../../../flow/event.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { declaredEvents } from './declared-events.js'
import { lateParts } from './late-parts.js'

const maxTimers = 8

/**
 * Puts the frame of the current step into the draft, if the step takes events, and has its timers scheduled.
 * Synchronous without a timer, because every turn calls it.
 *
 * @throws `FlowCodeError` for events that cannot be used; `FlowError` with the code `SCHEDULE_ERROR` (rejects)
 */
export function keepWaiting(control: TurnControl, draft: TurnDraft): Promise<void> | undefined {
  const events = draft.completed ? undefined : declaredEvents(draft)
  if (events === undefined) return undefined
  const { ofStep, ofFlow } = events
  const { entry, stepId: step } = draft
  const times = dueTimes(control, draft, ofStep, ofFlow)
  const timers = [...times].map(([name, at]) => ({ name, at: isoTime(at) }))
  if (ofStep.length === 0 && timers.length === 0) return undefined
  if (timers.length > maxTimers) throw flowCodeError(`Step '${step}' has more than ${maxTimers} timers.`)
  draft.frames = [timers.length === 0 ? { step, entry } : { step, entry, timers }]
  if (timers.length === 0) return undefined
  return lateParts(control.engine).then(({ scheduleWake }) => scheduleWake(control, draft))
}

/** Called after the commit: ends the process's timer of a session without timers, and schedules a wake that came early. */
export function waitingCommitted(control: TurnControl, document: SessionDocument): void {
  const { id, flow } = document
  const { wakeTimers, clock } = control.engine
  if (flow.wakeAt === undefined) wakeTimers.get(id)?.()
  else if (Date.parse(flow.wakeAt) <= clock.now()) {
    void lateParts(control.engine).then(({ scheduleOverdue }) => scheduleOverdue(control, document))
  }
}

/** When each timer is due, by the name of its event. */
function dueTimes(
  { engine, input: { event } }: TurnControl,
  { base, entry, timers }: TurnDraft,
  ofStep: readonly FlowEvent[],
  ofFlow: readonly FlowEvent[],
): Map<string, number> {
  const now = engine.clock.now()
  const former = base.flow.frames?.[0]
  const isNew = former?.entry !== entry
  // A flow's silence outlives a step.
  const times = new Map(
    former?.timers
      ?.filter(
        ({ name }) =>
          name !== event?.name && (!isNew || ofFlow.some((one) => one.name === name && one.silence !== undefined)),
      )
      .map(({ name, at }) => [name, Date.parse(at)]),
  )
  const start = (name: string, ms: number | undefined, from = now): unknown => ms && times.set(name, from + ms)
  for (const { name, after, silence } of isNew ? ofStep : []) {
    start(name, after)
    start(name, silence, silenceFrom(base, now, silence))
  }
  // Whatever a user does ends a silence.
  const isSpoken = event === undefined || event.source === 'user'
  for (const { name, silence } of isSpoken ? [...ofStep, ...ofFlow] : []) start(name, silence)
  for (const [name, ms] of timers ?? []) if (start(name, ms) === undefined) times.delete(name)
  return times
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
