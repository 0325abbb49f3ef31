/** Cancels the turn of a session that is under way in this process. The session stays as it was. */
import { TurnAbortedError } from '../errors/engine-errors.js'
import type { LockHolder } from '../session/session-lock.js'
import { writeAttempts } from '../session/store-access.js'
import { mayBeRepeat } from './busy.js'
import { atMost } from './close-engine.js'
import type { EngineContext } from './engine-context.js'
import type { CancelOptions } from './engine-options.js'
import type { RequestedTurn } from './turn/turn-control.js'

/**
 * Never rejects.
 *
 * @param options - Where given, only a turn of this owner is cancelled; without an `owner`, only one that has none.
 * @returns Whether a turn was cancelled, when it is settled.
 */
export async function cancelTurn(
  engine: EngineContext,
  sessionId: string,
  options: CancelOptions | undefined,
): Promise<boolean> {
  try {
    const holder = engine.session.holderOf(sessionId)
    const turn = holder && cancellableTurn(holder, options)
    if (holder === undefined || turn === undefined) return false
    const { control } = turn
    if (control.isAbortable) {
      control.isCancelled = true
      // A repeat of an answered message runs nothing that could be cancelled: see run-turn.ts.
      if (!mayBeRepeat(turn)) control.abort(new TurnAbortedError())
    }
    // A second call shares the outcome of the first one.
    if (!control.isCancelled) return false
    // Aborted turns are settled at once, but for a write under way. One that a runtime has dropped never is.
    await atMost(engine, engine.limits.storeTimeoutMs * writeAttempts, holder.ended())
    return control.failure === 'TURN_ABORTED'
  } catch {
    // The options may be any object of the caller's.
    return false
  }
}

/** The turn that has a lock, if it is one that the caller may cancel. */
function cancellableTurn(holder: LockHolder, options: CancelOptions | undefined): RequestedTurn | undefined {
  const turn = holder.waitOf().turn as RequestedTurn | undefined
  if (turn === undefined || options === undefined) return turn
  const caller = { owner: options.owner }
  const isForeign = holder.isForeignTo(caller) || turn.input.owner !== caller.owner
  return isForeign ? undefined : turn
}
