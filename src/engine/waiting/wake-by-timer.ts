/** Wakes a session by a timer of this process, for a store that ends with it. */
import { isoTime } from '../../util/iso-time.js'
import type { EngineContext } from '../core/engine-context.js'
import { wake } from './wake.js'

/** After a failure. */
const retryMs = 60_000

/** The engine option `schedule` of an engine whose store is not durable. */
export function wakeByTimer(engine: EngineContext, { sessionId, at }: { sessionId: string; at: string }): void {
  const { clock, session, wakeTimers } = engine
  wakeTimers.get(sessionId)?.()
  if (session.closing) return
  const fire = async (): Promise<void> => {
    wakeTimers.delete(sessionId)
    const { results } = await wake(engine, { sessionId })
    const hasFailed = results.some(({ error }) => error !== undefined)
    if (hasFailed && !wakeTimers.has(sessionId)) {
      wakeByTimer(engine, { sessionId, at: isoTime(clock.now() + retryMs) })
    }
  }
  const ms = Math.max(0, Date.parse(at) - clock.now())
  // `wake` never rejects.
  const stop = clock.setTimer(() => void fire(), ms, true)
  wakeTimers.set(sessionId, () => {
    wakeTimers.delete(sessionId)
    stop()
  })
}
