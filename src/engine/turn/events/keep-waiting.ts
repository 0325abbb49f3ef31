/** At the end of a turn: what its step waits for, and the timers of that. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowEvent } from '../../../flow/event.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { declaredEvents } from './declared-events.js'

const maxTimers = 8

/**
 * Puts the frame of the current step into the draft, if the step takes events. Synchronous, because every turn calls
 * it.
 *
 * @throws `FlowCodeError` for events that cannot be used
 */
export function keepWaiting(control: TurnControl, draft: TurnDraft): void {
  const events = draft.completed ? undefined : declaredEvents(draft)
  if (events === undefined) return
  const { ofStep, ofFlow } = events
  const { entry, stepId: step } = draft
  const times = dueTimes(control, draft, ofStep, ofFlow)
  const timers = [...times].map(([name, at]) => ({ name, at: isoTime(at) }))
  if (ofStep.length === 0 && timers.length === 0) return
  if (timers.length > maxTimers) throw flowCodeError(`Step '${step}' has more than ${maxTimers} timers.`)
  draft.frames = [timers.length === 0 ? { step, entry } : { step, entry, timers }]
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
