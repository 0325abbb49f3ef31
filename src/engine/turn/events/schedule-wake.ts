/** Has the session of a turn woken when its first timer is due. */
import { FlowError } from '../../../errors/flow-error.js'
import type { SessionDocument, SessionFlow } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import type { EngineContext } from '../../core/engine-context.js'
import { asFlowError, logFailure } from '../../core/error-text.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** Store operations that a wake leaves to the commit before it: earlier, it would find nothing. */
const operationsBefore = 4

type Due = Parameters<NonNullable<EngineContext['schedule']>>[0]

/** See `src/engine/waiting/wake-by-timer.ts`. */
interface ProcessTimers {
  wakeByTimer(engine: EngineContext, due: Due): void
}

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
  const [soonest] = timesOf(draft)
  if (soonest === undefined) return
  const now = clock.now()
  const leastAt = now + operationsBefore * limits.storeTimeoutMs
  const { ttlMs = Number.POSITIVE_INFINITY } = session.access.store.guarantees
  const lost = draft.frames?.[0]?.timers?.find((timer) => Math.max(Date.parse(timer.at), leastAt) - now >= ttlMs)
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

/** The sessions for which the option is being called. If it wakes one at once, the wake does not call it again. */
const underWay = new WeakMap<EngineContext, Set<string>>()

/** Calls the option. @throws `FlowError` with the code `SCHEDULE_ERROR` */
export async function callSchedule(engine: EngineContext, sessionId: string, at: number): Promise<void> {
  const { deadlines, limits, session } = engine
  const { wakeByTimer } = (await engine.loadWaiting()) as ProcessTimers
  const { durable } = session.access.store.guarantees
  const schedule = engine.schedule ?? (durable ? undefined : (due: Due) => wakeByTimer(engine, due))
  if (schedule === undefined) {
    throw scheduleError("A timer needs the engine option 'schedule', because the session store is durable.")
  }
  const sessions = underWay.get(engine) ?? new Set()
  if (sessions.has(sessionId)) return
  underWay.set(engine, sessions.add(sessionId))
  const { storeTimeoutMs } = limits
  await new Promise<void>((resolve, reject) => {
    const late = (): void => reject(scheduleError(`schedule took longer than storeTimeoutMs (${storeTimeoutMs} ms).`))
    const deadline = deadlines.set(storeTimeoutMs, late)
    const calling = (async () => schedule({ sessionId, at: isoTime(at) }))()
    calling
      .then(resolve, (cause) => reject(scheduleError('The engine option schedule failed.', cause)))
      .finally(() => deadline?.cancel())
  }).finally(() => sessions.delete(sessionId))
}

function scheduleError(message: string, cause?: unknown): FlowError {
  return new FlowError({ code: 'SCHEDULE_ERROR', message, cause })
}
