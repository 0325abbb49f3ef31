/**
 * The session of a turn with an idempotency key. It is found before anything of the flow runs, because the turn may be
 * a repeat: then its recorded outcome is the answer.
 */
import type { FlowConstructor } from '../../../flow/flow-registry.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { TurnInput } from '../../core/turn-input.js'
import { claimId } from '../../idempotency/claims.js'
import { type Replay, replayOf } from '../../idempotency/receipts.js'
import type { TurnControl } from '../control/turn-control.js'
import { findSession, noteRestart } from './find-session.js'
import { giveBackLeases, takeLease } from './session-lease.js'

/** What a turn with a key starts from. */
export type KeyedSession =
  /** A repeat: this is the answer. */
  | { readonly replay: Replay }
  /** A stored session that goes on. */
  | { readonly replay?: undefined; readonly loaded: SessionDocument; readonly newId?: undefined }
  /** A new session. */
  | { readonly replay?: undefined; readonly loaded?: undefined; readonly newId: string }

/**
 * Finds the session, and whether the request was answered before. The turn has the lock of the session
 * that it named, or claimed.
 */
export async function openKeyedSession(
  control: TurnControl,
  input: TurnInput,
  flowClass: FlowConstructor,
): Promise<KeyedSession> {
  const { sessionId } = input
  if (sessionId === undefined) {
    // Nothing is claimed yet where the flow was registered while the turn waited.
    return control.claimed === undefined ? claimNext(control, input, flowClass) : openClaimed(control, input, flowClass)
  }
  const loaded = await findSession(control, sessionId, input.owner, flowClass)
  const replay = loaded && replayOf(loaded, input.idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  // The client knows the ID from a turn that was interrupted.
  if (loaded === undefined && control.unstoredId === sessionId) return { newId: sessionId }
  noteRestart(control, sessionId, loaded?.runStatus ?? 'unknown')
  return claimNext(control, input, flowClass)
}

/**
 * Claims an ID, the next one where the turn has claimed one already, and moves the turn's lock
 * and lease to that session.
 */
export async function claimNext(
  control: TurnControl,
  input: TurnInput,
  flowClass: FlowConstructor,
): Promise<KeyedSession> {
  const replay = await claimId(control, input)
  control.check()
  if (replay !== undefined) return { replay }
  const { id } = control.claimed as NonNullable<TurnControl['claimed']>
  const { engine, lockHolder, signal } = control
  if (lockHolder !== undefined) await engine.session.moveToStored(lockHolder, id, signal)
  control.check()
  giveBackLeases(control, id)
  await takeLease(control, id, input.owner)
  return openClaimed(control, input, flowClass)
}

/** Opens the session whose ID was claimed. The turn has its lock. */
async function openClaimed(control: TurnControl, input: TurnInput, flowClass: FlowConstructor): Promise<KeyedSession> {
  const { id, isNew } = control.claimed as NonNullable<TurnControl['claimed']>
  control.sessionId = id
  if (isNew) return { newId: id }
  control.hold(id)
  const { stateOfGivenId } = control
  let loaded: SessionDocument | undefined
  try {
    loaded = await findSession(control, id, input.owner, flowClass)
  } finally {
    // What the client has named is another session.
    if (input.sessionId !== undefined) control.stateOfGivenId = stateOfGivenId
  }
  const replay = loaded && replayOf(loaded, input.idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  return loaded === undefined ? { newId: id } : claimNext(control, input, flowClass)
}
