/**
 * What becomes of a session whose turn failed: left byte for byte as it was, or marked `aborted` in one swap on the
 * revision that was loaded. And which ID and which text the failure envelope carries (design 5; contract 3, 4.5, 7.3).
 */
import type { FlowError } from '../../errors/flow-error.js'
import { leavesSessionAlone } from '../../errors/session-errors.js'
import { nextRevision } from '../../session/revision.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { ExecuteResult } from '../engine-options.js'
import { asFlowError } from '../error-text.js'
import type { BudgetCheck } from '../model-call/budget-check.js'
import { failureEnvelope } from './run-envelope.js'
import type { TurnControl } from './turn-control.js'
import type { TurnDraft } from './turn-draft.js'

/** Texts kept in a document's `error`. */
const maxErrors = 20

/** How far a turn came. */
export interface TurnProgress {
  /** What an abort is written over: the document as it was loaded, or the new one; `undefined` before the turn began. */
  base: SessionDocument | undefined
  /** The revision that is stored now; `undefined` where nothing is. */
  storedRevision: string | undefined
  /** What the turn's model calls cost so far. */
  usage: TurnDraft['usage'] | undefined
  budget: BudgetCheck | undefined
}

/** Settles a failed turn. Does not reject. */
export async function settleTurnError(
  control: TurnControl,
  thrown: unknown,
  progress: TurnProgress,
  givenSessionId: string,
): Promise<ExecuteResult> {
  const error = asFlowError(thrown)
  const { base } = progress
  if (error.code === 'SESSION_CONFLICT') control.report('session:conflict', {})
  control.report('turn:error', { code: error.code })
  const isNew = base !== undefined && base.revision === ''
  // The ID of a session that is stored already, or the one that the caller asked for.
  const session = isNew ? (progress.storedRevision === undefined ? '' : base.id) : givenSessionId
  if (base === undefined || leavesSessionAlone(error)) return failureEnvelope(session, error)
  try {
    await saveAborted(control, base, progress, error)
  } catch (second) {
    return failureEnvelope(session, error, asFlowError(second))
  }
  control.report('session:aborted', { code: error.code })
  return failureEnvelope(base.id, error)
}

function saveAborted(
  control: TurnControl,
  base: SessionDocument,
  progress: TurnProgress,
  error: FlowError,
): Promise<void> {
  const { engine } = control
  const document: SessionDocument = {
    ...base,
    revision: nextRevision(progress.storedRevision, engine.generateId('revision')),
    runStatus: 'aborted',
    savedAt: new Date(engine.clock.now()).toISOString(),
    error: [...base.error, error.message].slice(-maxErrors),
    usage: progress.usage ?? base.usage,
  }
  return engine.session.access.write(document, progress.storedRevision, { appended: {} })
}
