/** Wakes a session by a timer of this process, for a store that ends with it. */
import type { EngineContext } from '../core/engine-context.js'
import { wake } from './wake.js'

/** The engine option `schedule` of an engine whose store is not durable. */
export function wakeByTimer(engine: EngineContext, { sessionId, at }: { sessionId: string; at: string }): void {
  const { clock, wakeTimers } = engine
  wakeTimers.get(sessionId)?.()
  const fire = (): void => {
    wakeTimers.delete(sessionId)
    void wake(engine, { sessionId })
  }
  wakeTimers.set(sessionId, clock.setTimer(fire, Math.max(0, Date.parse(at) - clock.now()), true))
}
