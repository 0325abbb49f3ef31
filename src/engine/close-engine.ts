/** Closes an engine: lets running turns and summaries finish, then aborts the rest, then closes the store. */
import { EngineClosedError } from '../errors/engine-errors.js'
import { writeAttempts } from '../session/store-access.js'
import { atMost } from './core/at-most.js'
import type { EngineContext, RunningTurn } from './core/engine-context.js'

/** @throws `SessionStoreError` (rejects) if the store could not be closed */
export async function closeEngine(engine: EngineContext): Promise<void> {
  const { session, limits, turns, afterTurnTasks } = engine
  for (const stop of engine.wakeTimers.values()) stop()
  // Running turns may still start tasks.
  const work = session.close().then(() => afterTurnTasks.settled())
  await atMost(engine, limits.closeTimeoutMs, work)
  for (const turn of turns) turn.abort(new EngineClosedError())
  // Aborted turns settle at once. A commit, or a write of effects, has its own deadlines.
  await atMost(engine, limits.storeTimeoutMs * writeAttempts, Promise.all(Array.from(turns, settled)))
  await session.access.close()
}

function settled(turn: RunningTurn): Promise<void> {
  return new Promise((resolve) => {
    turn.onSettled = resolve
  })
}
