/** Cancels the running turn of a session in this process. The session stays unchanged. */
import { TurnAbortedError } from '../../errors/engine-errors.js'
import type { LockHolder } from '../../session/lock/lock-line.js'
import { writeAttempts } from '../../session/store-access.js'
import { atMost } from '../core/at-most.js'
import type { EngineContext } from '../core/engine-context.js'
import type { CancelOptions } from '../core/engine-options.js'
import { type Caller, reportForeign } from '../core/foreign-session.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { mayBeRepeat } from './busy.js'

/**
 * Never rejects.
 *
 * @param options - If given, cancels only a turn of this owner; without `owner`, only one that has none.
 * @returns whether a turn was cancelled, once it has settled
 */
export async function cancelTurn(
  engine: EngineContext,
  sessionId: string,
  options: CancelOptions | undefined,
): Promise<boolean> {
  try {
    const found = turnUnderWay(engine, sessionId, options && { owner: options.owner, requestId: options.requestId })
    if (found === undefined) return false
    const { holder, turn } = found
    if (turn.work.isAbortable) {
      turn.contend().isCancelled = true
      // A repeat of an answered message runs nothing that could be cancelled; run-turn.ts finds out.
      if (!mayBeRepeat(turn)) turn.work.abort(new TurnAbortedError())
    }
    // A second call shares the outcome of the first one.
    if (!turn.isCancelled) return false
    // Aborted turns settle at once, unless a write is running. A turn that a runtime dropped never settles.
    await atMost(engine, engine.limits.storeTimeoutMs * writeAttempts, holder.ended())
    return turn.failure === 'TURN_ABORTED'
  } catch {
    // The caller may pass any object as options.
    return false
  }
}

/** The options, read once. */
type CancelCaller = Caller & { readonly requestId: string | undefined }

interface TurnUnderWay {
  readonly holder: LockHolder
  readonly turn: TurnControl
}

/** The turn that has the lock of a session, if the caller may cancel it. */
function turnUnderWay(
  engine: EngineContext,
  sessionId: string,
  caller: CancelCaller | undefined,
): TurnUnderWay | undefined {
  const turns = engine.session.holdersOf(sessionId).flatMap((holder) => {
    const turn = holder.waitOf().turn as TurnControl | undefined
    return turn === undefined ? [] : [{ holder, turn }]
  })
  // The application itself may cancel any turn, except one of a caller who does not own the session and is about to
  // find that out.
  if (caller === undefined) return turns.find(({ holder }) => holder.isOwn) ?? turns[0]
  const ofUsers = turns.filter(({ turn }) => !turn.isOfServer)
  const own = ofUsers.find(({ holder, turn }) => turn.owner === caller.owner && !holder.isForeignTo(caller))
  const other = own === undefined ? ofUsers.find(({ holder }) => holder.isOwn) : undefined
  if (other !== undefined) {
    const { requestId } = caller
    reportForeign(engine, { sessionId, operation: 'cancel', requestId }, caller, other.turn.owner)
  }
  return own
}
