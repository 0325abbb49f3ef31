/**
 * What becomes of a session whose turn failed: it stays byte for byte as it was, or it is marked `aborted` by one write
 * over the revision that was loaded. Also which ID and which text the failure envelope has (design 5; contract 3, 4.5, 7.3).
 */
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
  try {
    await saveAborted(control, draft, error)
  } catch (second) {
    return failureEnvelope(storedId(draft, givenSessionId), error, asFlowError(second))
  }
  control.report('session:aborted', { code: error.code })
  return failureEnvelope(draft.base.id, error)
}

/** The ID of a new session where its checkpoint was stored, or the ID that the caller asked for. */
function storedId(draft: TurnDraft | undefined, givenSessionId: string): string {
  if (draft === undefined || draft.loaded !== undefined) return givenSessionId
  return draft.storedRevision === undefined ? '' : draft.base.id
}

function saveAborted(control: TurnControl, draft: TurnDraft, error: FlowError): Promise<void> {
  const { clock, generateId, session } = control.engine
  const { storedRevision, usage } = draft
  const base = draft.loaded ?? draft.base
  draft.budget?.keepTime(usage, clock.now())
  const document: SessionDocument = {
    ...base,
    revision: nextRevision(storedRevision, generateId('revision')),
    runStatus: 'aborted',
    savedAt: isoTime(clock.now()),
    error: [...base.error, error.message].slice(-maxErrors),
    usage,
  }
  return session.access.write(document, storedRevision, { appended: {} })
}
