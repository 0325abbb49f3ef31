/** Has the session of a turn woken when its first timer is due. */
import type { FlowError } from '../../../errors/flow-error.js'
import type { SessionDocument, SessionFlow } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import { asFlowError, logFailure } from '../../core/error-text.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { callSchedule, scheduleError } from './call-schedule.js'

/** Store operations that a wake leaves to the commit before it: earlier, it would find nothing. */
const operationsBefore = 4

/** When the timers of a session are due, in milliseconds since the epoch, the soonest first. */
export function timesOf({ frames = [] }: { readonly frames?: SessionFlow['frames'] | undefined }): number[] {
  return frames.flatMap(({ timers = [] }) => timers.map(({ at }) => Date.parse(at))).sort((a, b) => a - b)
}

/**
 * Called before the commit of a turn with timers: calls the engine option `schedule`, unless an earlier call still
 * stands.
 *
 * @throws `FlowError` with the code `SCHEDULE_ERROR`
 */
export async function scheduleWake({ engine, input, work }: TurnControl, draft: TurnDraft): Promise<void> {
  const { clock, limits, session } = engine
  // There is one.
  const soonest = timesOf(draft)[0] as number
  const now = clock.now()
  const leastAt = now + operationsBefore * limits.storeTimeoutMs
  const { ttlMs = Number.POSITIVE_INFINITY } = session.access.store.guarantees
  const timers = draft.frames?.flatMap((frame) => frame.timers ?? [])
  const lost = timers?.find((timer) => Math.max(Date.parse(timer.at), leastAt) - now >= ttlMs)
  if (lost !== undefined) {
    const reason = `the session store drops the session ${ttlMs} ms after its last save`
    throw work.own(scheduleError(`The timer '${lost.name}' would never be due: ${reason}.`))
  }
  const at = Math.max(soonest, leastAt)
  const former = Date.parse(draft.base.flow.wakeAt ?? '')
  draft.wakeAt = draft.base.flow.wakeAt
  if (former > now && former <= at && input.event?.source !== 'timer') return
  draft.wakeAt = isoTime(at)
  try {
    await callSchedule(engine, draft.base.id, at)
  } catch (error) {
    throw work.own(error as FlowError)
  }
}

/** Schedules once more if a wake came before the end of the commit, and found nothing. */
export function scheduleOverdue({ engine, ids }: TurnControl, { id, flow }: SessionDocument): void {
  const now = engine.clock.now()
  const [soonest] = timesOf(flow)
  if (soonest === undefined) return
  const at = Math.max(soonest, now + 1_000)
  callSchedule(engine, id, at).catch((error: unknown) => logFailure(engine, asFlowError(error), ids))
}
