/** Answers a repeat with the recorded outcome: no turn runs, and nothing is written. */
import { FlowError } from '../../errors/flow-error.js'
import type { TurnOutcome } from '../core/run-envelope.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { claimId, readStored } from './claims.js'
import { type Replay, replayOf, reportReplay } from './receipts.js'

/** Ends the turn of a repeat with the recorded outcome. */
export function answerRepeat(control: TurnControl, { result, turnId }: Replay): TurnOutcome {
  control.work.finish()
  control.sessionId = result.response.session
  const { engine, ids, owner } = control
  reportReplay(engine, { ...ids, turnId, owner, joined: false })
  return result
}

/**
 * The recorded outcome of a request, if it must be known before the request asks for the lock. A request without a
 * session claims a session ID, and the session that an earlier request claimed may have the answer. If a session is
 * locked and flows refuse, supersede or interrupt messages, only an unanswered message may do so.
 *
 * @returns `undefined` if there is none, or if it must be found under the lock
 * @throws `IdempotencyMismatchError`, as `replayOf` does; `SessionStoreError` if a claim failed
 */
export function replayBeforeLock(control: TurnControl): Promise<Replay | undefined> | undefined {
  const { engine } = control
  const { sessionId, owner, idempotency } = control.input
  // An unregistered or hidden flow has no sessions, so nothing is claimed for it.
  if (sessionId === undefined) return control.flowName === '' ? undefined : claimId(control)
  const mustWait =
    engine.session.isLocked(sessionId, control.input) || engine.arrivals.before(control.input) !== undefined
  if (!mustWait || isAlwaysQueued(engine)) return undefined
  return engine.arrivals.look(control.input, async () => {
    const stored = await readStored(control, sessionId, owner)
    return stored && replayOf(stored, idempotency)
  })
}

/** Whether every flow queues. Any flow's turn may have the lock by then, and its policy counts. */
function isAlwaysQueued({ flows, busy }: TurnControl['engine']): boolean {
  return flows.names().every((name) => (flows.get(name)?.busy ?? busy) === 'queue')
}

/**
 * The recorded outcome after a conflict: another process may have answered the same request. `undefined` if it has not,
 * or if that cannot be found out.
 */
export async function replayAfterConflict(control: TurnControl): Promise<Replay | undefined> {
  const { input, draft } = control
  if (input.idempotency === undefined || draft === undefined) return undefined
  const stored = await readStored(control, draft.base.id, draft.base.owner)
  try {
    return stored && replayOf(stored, input.idempotency)
  } catch (error) {
    // The conflict is more useful than the mismatch: the client then loads the session and asks again.
    if (FlowError.isInstance(error)) return undefined
    throw error
  }
}
