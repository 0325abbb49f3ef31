/**
 * Finds the session of a turn with an idempotency key. This comes before any flow code, because the turn may be a
 * repeat that gets the recorded outcome.
 */
import type { FlowConstructor } from '../../../flow/flow.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { claimId } from '../../idempotency/claims.js'
import { type Replay, replayOf } from '../../idempotency/receipts.js'
import { leadWaiting } from '../../lock/busy.js'
import type { Contention } from '../control/contention.js'
import type { TurnControl } from '../control/turn-control.js'
import { findSession, isUnstored, noteRestart } from './find-session.js'
import { giveBackLeases, takeLease } from './session-lease.js'

type Claimed = NonNullable<Contention['claimed']>

/** The start of a turn with a key. */
export type KeyedSession =
  /** A repeat, with its recorded outcome. */
  | { readonly replay: Replay }
  /** A stored session that goes on. */
  | { readonly replay?: undefined; readonly loaded: SessionDocument; readonly newId?: undefined }
  /** A new session. */
  | { readonly replay?: undefined; readonly loaded?: undefined; readonly newId: string }

/**
 * Finds the session, and whether the request was answered before. The turn has the lock of the session
 * that it named, or claimed.
 */
export async function openKeyedSession(control: TurnControl, flowClass: FlowConstructor): Promise<KeyedSession> {
  const { sessionId } = control.input
  if (sessionId === undefined) {
    // Nothing is claimed yet if the flow was registered while the turn waited.
    return control.contention?.claimed === undefined ? claimNext(control, flowClass) : openClaimed(control, flowClass)
  }
  const loaded = await findSession(control, sessionId, flowClass)
  const replay = loaded && replayOf(loaded, control.input.idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  if (loaded === undefined && (await isUnstored(control, sessionId))) return { newId: sessionId }
  noteRestart(control, sessionId, loaded?.runStatus ?? 'unknown')
  return claimNext(control, flowClass)
}

/** Claims an ID (the next one if the turn already has one), and moves the turn's lock and lease to that session. */
export async function claimNext(control: TurnControl, flowClass: FlowConstructor): Promise<KeyedSession> {
  const replay = await claimId(control)
  control.work.check()
  if (replay !== undefined) return { replay }
  await moveToSession(control, (control.contend().claimed as Claimed).id)
  return openClaimed(control, flowClass)
}

/** Moves the turn's lock and lease to another session than the client named. Turns that wait behind it may follow. */
export async function moveToSession(control: TurnControl, sessionId: string): Promise<void> {
  const { engine, lockHolder, work } = control
  leadWaiting(control, sessionId)
  if (lockHolder !== undefined) await engine.session.moveToStored(lockHolder, sessionId, work.signal)
  work.check()
  giveBackLeases(control, sessionId)
  await takeLease(control, sessionId)
}

/** Loads a session other than the client named. The turn has its lock. */
export async function openSession(
  control: TurnControl,
  sessionId: string,
  flowClass: FlowConstructor,
): Promise<SessionDocument | undefined> {
  control.sessionId = sessionId
  control.hold(sessionId)
  const { stateOfGivenId } = control
  try {
    return await findSession(control, sessionId, flowClass)
  } finally {
    if (control.input.sessionId !== undefined) control.stateOfGivenId = stateOfGivenId
  }
}

/** Opens the session whose ID was claimed. The turn has its lock. */
async function openClaimed(control: TurnControl, flowClass: FlowConstructor): Promise<KeyedSession> {
  const { id, isNew } = control.contend().claimed as Claimed
  control.sessionId = id
  if (isNew) return { newId: id }
  const loaded = await openSession(control, id, flowClass)
  const replay = loaded && replayOf(loaded, control.input.idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  const isUnused = loaded === undefined && !(await control.engine.session.access.isDeleted(id))
  return isUnused ? { newId: id } : claimNext(control, flowClass)
}
