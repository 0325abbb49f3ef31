/**
 * The session of a turn with an idempotency key. It is found before anything of the flow runs, because the turn may be a repeat:
 * then its recorded outcome is the answer.
 */
import type { FlowConstructor } from '../../flow/flow-registry.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { RequestKey, TurnInput } from '../input/check-input.js'
import { findSession, noteRestart } from '../turn/find-session.js'
import { giveBackLeases, takeLease } from '../turn/session-lease.js'
import type { TurnControl } from '../turn/turn-control.js'
import { type Replay, replayOf } from './receipts.js'

/** What a turn with a key starts from. */
export type KeyedSession =
  /** A repeat: this is the answer. */
  | { readonly replay: Replay }
  /** A stored session that goes on. */
  | { readonly replay?: undefined; readonly loaded: SessionDocument; readonly newId?: undefined }
  /** A new session. */
  | { readonly replay?: undefined; readonly loaded?: undefined; readonly newId: string }

/** Finds the session, and whether the request was answered before. */
export async function openKeyedSession(
  control: TurnControl,
  input: TurnInput,
  flowClass: FlowConstructor,
): Promise<KeyedSession> {
  const { sessionId, owner, idempotency } = input
  if (sessionId === undefined) return claimSession(control, input, flowClass)
  const loaded = await findSession(control, sessionId, owner, flowClass)
  const replay = loaded && replayOf(loaded, idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  noteRestart(control, sessionId, loaded?.runStatus ?? 'unknown')
  return claimSession(control, input, flowClass)
}

/**
 * Claims the ID of a new session. Where a repeat of the request claimed one before, that session is looked at: it may have the
 * answer, or go on because the turn that made it was rolled back.
 */
export async function claimSession(
  control: TurnControl,
  input: TurnInput,
  flowClass: FlowConstructor,
): Promise<KeyedSession> {
  const { engine, lockHolder } = control
  control.hasClaimed = true
  const ownId = engine.generateId('session')
  const sessionId = await engine.claims.claim(engine.session.access, input.idempotency as RequestKey, ownId)
  control.check()
  if (lockHolder !== undefined) await engine.session.moveToStored(lockHolder, sessionId)
  control.check()
  control.sessionId = sessionId
  giveBackLeases(control, sessionId)
  const waiting = takeLease(control, sessionId)
  if (waiting !== undefined) await waiting
  engine.keyedTurns.addSession(control, input, sessionId)
  // Nobody else has ever seen an ID that was made just now.
  if (sessionId === ownId) return { newId: sessionId }
  control.hold(sessionId)
  const { stateOfGivenId } = control
  const loaded = await findSession(control, sessionId, input.owner, flowClass)
  if (input.sessionId !== undefined) control.stateOfGivenId = stateOfGivenId
  const replay = loaded && replayOf(loaded, input.idempotency)
  if (replay !== undefined) return { replay }
  if (loaded?.runStatus === 'running') return { loaded }
  // It ended without a receipt for this request, which only another engine can have brought about.
  return { newId: loaded === undefined ? sessionId : engine.generateId('session') }
}
