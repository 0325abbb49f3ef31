/** A repeat is answered with the recorded outcome: nothing is run, and nothing is written. */
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
 * The recorded outcome of a request, where that has to be known before it asks for the lock. A request without a
 * session claims the ID of its own, and a session that an earlier request has claimed may have the answer. Where a
 * session is locked and flows refuse, supersede or interrupt messages, only one that was not answered
 * before may have that done.
 *
 * @returns `undefined` where there is none, or where it is to be found under the lock.
 * @throws `IdempotencyMismatchError`, as `replayOf` does, and `SessionStoreError` where a claim failed.
 */
export function replayBeforeLock(control: TurnControl): Promise<Replay | undefined> | undefined {
  const { engine } = control
  const { sessionId, owner, idempotency } = control.input
  // A flow that is not registered, or hidden, has no sessions: nothing is claimed for it.
  if (sessionId === undefined) return control.flowName === '' ? undefined : claimId(control)
  const mustWait =
    engine.session.isLocked(sessionId, control.input) || engine.arrivals.before(control.input) !== undefined
  if (!mustWait || isAlwaysQueued(engine)) return undefined
  return engine.arrivals.look(control.input, async () => {
    const stored = await readStored(control, sessionId, owner)
    return stored && replayOf(stored, idempotency)
  })
}

/** Whether no flow has another policy. That of the flow counts whose turn has the lock by then, which may be any. */
function isAlwaysQueued({ flows, busy }: TurnControl['engine']): boolean {
  return flows.names().every((name) => (flows.get(name)?.busy ?? busy) === 'queue')
}

/**
 * The recorded outcome after a conflict: another process may have answered the same request. `undefined` where it has
 * not, or nobody can know.
 */
export async function replayAfterConflict(control: TurnControl): Promise<Replay | undefined> {
  const { input, draft } = control
  if (input.idempotency === undefined || draft === undefined) return undefined
  const stored = await readStored(control, draft.base.id, draft.base.owner)
  try {
    return stored && replayOf(stored, input.idempotency)
  } catch (error) {
    // The conflict says more than the mismatch: the client loads the session and asks again.
    if (FlowError.isInstance(error)) return undefined
    throw error
  }
}
