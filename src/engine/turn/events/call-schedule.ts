/** Calls the engine option `schedule`, within its time. */
import { FlowError } from '../../../errors/flow-error.js'
import { isoTime } from '../../../util/iso-time.js'
import type { EngineContext } from '../../core/engine-context.js'

type Due = Parameters<NonNullable<EngineContext['schedule']>>[0]

/** See `src/engine/waiting/wake-by-timer.ts`. */
interface ProcessTimers {
  wakeByTimer(engine: EngineContext, due: Due): void
}

/** The calls under way. If the option wakes the session at once, the wake must not ask for the same time again. */
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
  const calls = underWay.get(engine) ?? new Set()
  const call = `${sessionId} ${at}`
  if (calls.has(call)) return
  underWay.set(engine, calls.add(call))
  const { storeTimeoutMs } = limits
  await new Promise<void>((resolve, reject) => {
    const late = (): void => reject(scheduleError(`schedule took longer than storeTimeoutMs (${storeTimeoutMs} ms).`))
    const deadline = deadlines.set(storeTimeoutMs, late)
    const calling = (async () => schedule({ sessionId, at: isoTime(at) }))()
    calling
      .then(resolve, (cause) => reject(scheduleError('The engine option schedule failed.', cause)))
      .finally(() => deadline?.cancel())
  }).finally(() => calls.delete(call))
}

/** A turn with this error is rolled back. */
export function scheduleError(message: string, cause?: unknown): FlowError {
  return new FlowError({ code: 'SCHEDULE_ERROR', message, cause })
}
