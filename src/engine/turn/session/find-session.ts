/** Finds the stored session that a turn may continue, if there is one. No flow code has run yet. */
import { FlowError } from '../../../errors/flow-error.js'
import { EventNotTakenError, isMalformed, SessionNotFoundError } from '../../../errors/session-errors.js'
import type { FlowConstructor } from '../../../flow/flow.js'
import { decodeSession } from '../../../session/session-codec.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { checkFlowName, type Found, loadFor, reportForeign } from '../../core/foreign-session.js'
import type { TurnControl } from '../control/turn-control.js'

/**
 * Loads a session.
 *
 * @returns the session; `undefined` if the owner has none under this ID
 * @throws `SessionFlowMismatchError` if it belongs to another flow; `SessionFlowInvariantError` if it is malformed
 */
export async function findSession(
  control: TurnControl,
  sessionId: string,
  flowClass: FlowConstructor,
): Promise<SessionDocument | undefined> {
  const { engine, owner } = control
  let found: Found
  try {
    found = await loadFor(engine, sessionId, { owner, turnId: control.turnId })
  } catch (error) {
    if (isMalformed(error)) setOwner(control, { owner })
    throw error
  }
  const { stored, isForeign } = found
  if (isForeign) {
    reportForeign(engine, { ...control.ids, sessionId, operation: 'run' }, { owner }, found.owner)
  }
  if (stored !== undefined || isForeign) setOwner(control, { owner: found.owner })
  // Waiting turns continue with the session that the turn is about to create.
  else setOwner(control, control.contention?.unstoredId === sessionId ? { owner } : undefined)
  control.work.check()
  control.stateOfGivenId = 'none'
  if (stored === undefined) return undefined
  // The turn was refused the lock, so it must not continue this session.
  if (control.lockHolder?.isStranger === true) return undefined
  control.stateOfGivenId = 'unknown'
  const loaded = decodeSession(stored, sessionId)
  control.stateOfGivenId = loaded.runStatus
  checkFlowName(loaded, flowClass)
  return loaded
}

/**
 * Whether the client knows the ID from an interrupted turn that was about to create the session, and it was not deleted
 * since.
 *
 * @throws `SessionStoreError` if the store failed
 */
export async function isUnstored({ engine, contention, input }: TurnControl, sessionId: string): Promise<boolean> {
  if (input.event !== undefined) return false
  return contention?.unstoredId === sessionId && !(await engine.session.access.isDeleted(sessionId))
}

/** Notes why a new session starts instead of the requested one, unless the application wants a refusal. */
export function noteRestart(
  control: TurnControl,
  sessionId: string,
  reason: 'unknown' | 'completed' | 'aborted' | 'outdated' | 'flow',
): void {
  const { event, rejectsEnded } = control.input
  if (event !== undefined) throw new EventNotTakenError({ sessionId, event: event.name })
  if (rejectsEnded && reason === 'completed') throw sessionEnded(sessionId)
  // A new session that the flow itself wants is not refused.
  const isOfFlow = reason === 'outdated' || reason === 'flow'
  if (control.engine.unknownSession === 'reject' && !isOfFlow) throw new SessionNotFoundError({ sessionId })
  control.draft = undefined
  control.restarted = reason
}

function sessionEnded(sessionId: string): FlowError {
  const message = `Session '${sessionId}' has ended. Leave the session ID out to start a new one.`
  return new FlowError({ code: 'SESSION_ENDED', message, facts: { sessionId } })
}

/** Notes the session's owner in the lock. @param stored - The stored document; `undefined` if nothing is stored. */
function setOwner({ engine, lockHolder }: TurnControl, stored: { readonly owner?: unknown } | undefined): void {
  if (lockHolder !== undefined) engine.session.setOwner(lockHolder, stored)
}
