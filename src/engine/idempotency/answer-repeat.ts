/** A repeat is answered with the recorded outcome: nothing is run, and nothing is written. */
import { FlowError } from '../../errors/flow-error.js'
import { decodeSession, ownerOf } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { TurnInput } from '../input/check-input.js'
import { checkFlowName } from '../turn/find-session.js'
import type { TurnOutcome } from '../turn/run-envelope.js'
import type { TurnControl } from '../turn/turn-control.js'
import { type Replay, replayOf, reportReplay } from './receipts.js'

/** Ends the turn of a repeat with the recorded outcome. */
export function answerRepeat(control: TurnControl, { result, turnId }: Replay): TurnOutcome {
  control.finishWork()
  control.sessionId = result.response.session
  const { engine, sessionId, flowName } = control
  reportReplay(engine, { sessionId, flowName, turnId, joined: false })
  return result
}

/**
 * The recorded outcome in a session whose lock another turn has: a repeat need not wait for it. `undefined` where there is none.
 *
 * @throws `IdempotencyMismatchError`, as `replayOf` does.
 */
export async function replayBesideLock(
  control: TurnControl,
  { sessionId, owner, idempotency }: TurnInput,
): Promise<Replay | undefined> {
  if (sessionId === undefined || !control.engine.session.isLocked(sessionId)) return undefined
  const stored = await storedSession(control, sessionId, owner)
  return stored && replayOf(stored, idempotency)
}

/**
 * The recorded outcome after a conflict: another process may have answered the same request. `undefined` where it has not, or nobody
 * can know.
 */
export async function replayAfterConflict(control: TurnControl): Promise<Replay | undefined> {
  const own = control.requestKeys.at(-1)
  const { draft } = control
  if (own === undefined || draft === undefined) return undefined
  const stored = await storedSession(control, draft.base.id, draft.base.owner)
  try {
    return stored && replayOf(stored, own)
  } catch (error) {
    // The conflict says more than the mismatch: the client loads the session and asks again.
    if (FlowError.isInstance(error)) return undefined
    throw error
  }
}

/** A session as it is stored now; `undefined` where it is not the owner's and flow's, or cannot be read. */
async function storedSession(
  { engine, flowName }: TurnControl,
  sessionId: string,
  owner: string | undefined,
): Promise<SessionDocument | undefined> {
  const flowClass = engine.flows.get(flowName)
  if (flowClass === undefined) return undefined
  try {
    const stored = await engine.session.access.loadUnchecked(sessionId)
    if (stored === undefined || ownerOf(stored) !== owner) return undefined
    const document = decodeSession(stored, sessionId)
    checkFlowName(document, flowClass)
    return document
  } catch {
    return undefined
  }
}
