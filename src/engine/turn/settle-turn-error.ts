/**
 * What becomes of a session whose turn failed: it stays byte for byte as it was, or one write over the revision that was loaded
 * marks it `aborted`, or stores only the error and what was spent, so that it goes on. Also which ID and which text the failure
 * envelope has (design 5; contract 3, 4.5, 7.3).
 */
import type { LimitExceededError } from '../../errors/engine-errors.js'
import type { FlowError } from '../../errors/flow-error.js'
import { leavesSessionUnchanged } from '../../errors/session-errors.js'
import { nextRevision } from '../../session/revision.js'
import type { SessionDocument } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import type { ExecuteResult } from '../engine-options.js'
import { asFlowError } from '../error-text.js'
import { failureEnvelope } from './run-envelope.js'
import type { TurnControl } from './turn-control.js'
import type { TurnDraft } from './turn-draft.js'

/** Texts kept in a document's `error`. */
const maxErrors = 20

/** Settles a failed turn. Does not reject. */
export async function settleTurnError(
  control: TurnControl,
  thrown: unknown,
  givenSessionId: string,
): Promise<ExecuteResult> {
  const { draft } = control
  const error = asFlowError(thrown)
  if (error.code === 'SESSION_CONFLICT') control.report('session:conflict', {})
  control.report('turn:error', { code: error.code })
  if (draft === undefined || leavesSessionUnchanged(error)) {
    return failureEnvelope(storedId(draft, givenSessionId), error)
  }
  const isAborted = !goesOnAfter(error)
  const isNew = draft.storedRevision === undefined
  try {
    await saveFailure(control, draft, error, isAborted ? 'aborted' : 'running')
  } catch (second) {
    return failureEnvelope(storedId(draft, givenSessionId), error, asFlowError(second))
  }
  if (isAborted) control.report('session:aborted', { code: error.code })
  else control.report(isNew ? 'session:created' : 'session:saved', {})
  return failureEnvelope(draft.base.id, error)
}

/** Whether the session goes on although its turn failed: what the turn would have stored was too much, and nothing else is wrong. */
function goesOnAfter(error: FlowError): boolean {
  return error.code === 'LIMIT_EXCEEDED' && (error as LimitExceededError).limit === 'maxSessionBytes'
}

/** The ID of a new session where its checkpoint was stored, or the ID that the caller asked for. */
function storedId(draft: TurnDraft | undefined, givenSessionId: string): string {
  if (draft === undefined || draft.loaded !== undefined) return givenSessionId
  return draft.storedRevision === undefined ? '' : draft.base.id
}

/** Stores the session as it was before the turn, with the text of the error and what the turn has spent. */
function saveFailure(
  control: TurnControl,
  draft: TurnDraft,
  error: FlowError,
  runStatus: SessionDocument['runStatus'],
): Promise<void> {
  const { clock, generateId, session } = control.engine
  const { storedRevision, usage, beforeTurn } = draft
  draft.budget?.keepTime(usage, clock.now())
  const document: SessionDocument = {
    ...beforeTurn,
    revision: nextRevision(storedRevision, generateId('revision')),
    runStatus,
    savedAt: isoTime(clock.now()),
    error: [...beforeTurn.error, error.message].slice(-maxErrors),
    usage,
  }
  return session.access.write(document, storedRevision, draft.hintBeforeTurn())
}
