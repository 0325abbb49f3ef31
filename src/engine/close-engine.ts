/** How an engine closes: turns and summaries under way may finish, then they are aborted, then the store is closed. */
import { EngineClosedError } from '../errors/engine-errors.js'
import { writeAttempts } from '../session/store-access.js'
import { atMost } from './core/at-most.js'
import type { EngineContext, RunningTurn } from './core/engine-context.js'

/** @throws `SessionStoreError` (rejects) where the store could not be closed. */
export async function closeEngine(engine: EngineContext): Promise<void> {
  const { session, limits, turns, afterTurnTasks } = engine
  // Turns under way may still leave tasks behind.
  const work = session.close().then(() => afterTurnTasks.settled())
  await atMost(engine, limits.closeTimeoutMs, work)
  for (const turn of turns) turn.abort(new EngineClosedError())
  // Aborted turns are settled at once. A commit, or a write of effects, has deadlines of its own.
  await atMost(engine, limits.storeTimeoutMs * writeAttempts, Promise.all(Array.from(turns, settled)))
  await session.access.close()
}

function settled(turn: RunningTurn): Promise<void> {
  return new Promise((resolve) => {
    turn.onSettled = resolve
  })
}
