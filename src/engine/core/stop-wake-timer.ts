/** Ends the timer of a session that waits for no time any more. */
import type { EngineContext } from './engine-context.js'

/** Does nothing if there is none. */
export function stopWakeTimer({ wakeTimers }: EngineContext, sessionId: string): void {
  wakeTimers.get(sessionId)?.()
  wakeTimers.delete(sessionId)
}
