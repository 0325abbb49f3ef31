/**
 * Settles a session after a failed turn: it stays byte for byte unchanged, or one write over the loaded revision either
 * marks it `aborted` or stores only the error and the spending, so that it goes on. Also decides the session ID, the
 * text and the session state of the result (design 5, 8.1, 8.2; contract 3, 4.5, 7.3).
 */

import type { FlowErrorCode } from '../../../errors/error-facts.js'
import type { AnyFlowError } from '../../../errors/flow-error.js'
import { isOutcomeUnknown, isSessionConflict, leavesSessionUnchanged } from '../../../errors/session-errors.js'
import { GrowingList } from '../../../session/lists/growing-list.js'
import { shareList } from '../../../session/lists/shared-lists.js'
import { nextRevision } from '../../../session/revision.js'
import { unchangedLists } from '../../../session/save-hint.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import type { SessionState } from '../../core/engine-options.js'
import { asFlowError, logFailure, maskedError, maskedText, userText } from '../../core/error-text.js'
import { failureEnvelope, type TurnOutcome } from '../../core/run-envelope.js'
import { stateUnseen } from '../../core/session-state.js'
import type { RequestKey, TurnInput } from '../../core/turn-input.js'
import { answerRepeat, replayAfterConflict } from '../../idempotency/answer-repeat.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** Texts kept in a document's `error`. */
const maxErrors = 20

/** Settles a failed turn. Does not reject. */
export async function settleTurnError(
  control: TurnControl,
  thrown: unknown,
  givenSessionId: string,
): Promise<TurnOutcome> {
  const { engine, effects } = control
  const error = asFlowError(thrown)
  control.failure = error.code
  control.mayBeginEffects = false
  // A running write of an effect may change the stored session.
  await effects?.abandon()
  if (error.code === 'SESSION_CONFLICT') control.report('session:conflict', {})
  const replayed = await recordedOutcome(control, error)
  if (replayed !== undefined) return replayed
  reportSuperseded(control, error)
  const failed = control.ids
  control.report('turn:error', { code: error.code, error: maskedError(engine, error, failed) })
  const text = userText(engine, error, failed)
  const draft = draftToStore(control, error)
  if (draft === undefined) {
    const second = await storeEffects(control, error)
    const id = storedId(control.draft, givenSessionId)
    return failureEnvelope(id, text, error, stateAfter(control, second ?? error, givenSessionId))
  }
  const goesOn = goesOnAfter(control, error)
  const isNew = draft.storedRevision === undefined
  try {
    await saveFailure(control, draft, maskedText(engine, text, failed, error.cause), goesOn ? undefined : error.code)
  } catch (thrownBySave) {
    const second = asFlowError(thrownBySave)
    const replayedAfterSave = await recordedOutcome(control, second)
    if (replayedAfterSave !== undefined) return replayedAfterSave
    const bothTexts = withSecond(control, text, second, goesOn)
    return failureEnvelope(
      storedId(draft, givenSessionId),
      bothTexts,
      error,
      stateAfter(control, second, givenSessionId),
    )
  }
  reportSettled(control, error, goesOn, isNew)
  return failureEnvelope(draft.base.id, text, error, goesOn ? 'running' : 'aborted')
}

function reportSettled(control: TurnControl, { code }: AnyFlowError, goesOn: boolean, isNew: boolean): void {
  if (goesOn) {
    control.report(isNew ? 'session:created' : 'session:saved', {})
    control.report('turn:rolled-back', { code })
  } else control.report('session:aborted', { code })
}

/** After a conflict: another process may have settled the same request meanwhile, so its outcome is recorded. */
async function recordedOutcome(control: TurnControl, error: AnyFlowError): Promise<TurnOutcome | undefined> {
  const replay = error.code === 'SESSION_CONFLICT' ? await replayAfterConflict(control) : undefined
  return replay && answerRepeat(control, replay)
}

/** The draft whose failure is stored; `undefined` if the session stays unchanged. */
function draftToStore({ draft, effects }: TurnControl, error: AnyFlowError): TurnDraft | undefined {
  const failures = [error, effects?.writeFailure]
  return failures.some((failure) => failure && leavesSessionUnchanged(failure)) ? undefined : draft
}

/**
 * Stores the effects of a turn that stores nothing else.
 *
 * @returns the error of this or an earlier write of effects; it is logged, because the reply has the error of the turn
 */
async function storeEffects(control: TurnControl, error: AnyFlowError): Promise<AnyFlowError | undefined> {
  const { effects, draft, engine } = control
  if (effects === undefined || draft === undefined) return undefined
  // After a conflict, or if it is unknown what is stored, nothing more is written.
  const mayWrite = [error, effects.writeFailure].every((failure) => failure === undefined || isStoredKnown(failure))
  if (mayWrite && effects.isUnstored) {
    draft.budget?.keepTime(draft.usage)
    await effects.store().catch(() => undefined)
  }
  const { writeFailure } = effects
  if (writeFailure === undefined || (isStoredKnown(writeFailure) && !effects.isUnstored)) return undefined
  if (writeFailure !== error) logFailure(engine, writeFailure, control.ids)
  return writeFailure
}

/** Whether the document that the turn loaded or stored is still the stored one after `error`. */
function isStoredKnown(error: AnyFlowError): boolean {
  return !isSessionConflict(error) && !isOutcomeUnknown(error)
}

/** Whether the session goes on although its turn failed. */
function goesOnAfter({ engine, flowName, input }: TurnControl, error: AnyFlowError): boolean {
  // A session never ends because an event failed, or a timer could not be set.
  if (input.event !== undefined || error.code === 'SCHEDULE_ERROR') return true
  // The new document was too large; nothing else is wrong.
  if (error.code === 'LIMIT_EXCEEDED' && error.limit === 'maxSessionBytes') return true
  return (engine.flows.get(flowName)?.onTurnError ?? engine.onTurnError) === 'rollback'
}

/** Reports the turn that interrupted this one. For a waiting turn, the superseding turn has already reported it. */
function reportSuperseded(control: TurnControl, { code }: AnyFlowError): void {
  const byTurnId = control.contention?.supersededBy
  if (code === 'TURN_SUPERSEDED' && byTurnId !== undefined) control.report('turn:superseded', { byTurnId })
}

/** The ID of a new session if its checkpoint was stored, or else the requested ID. */
function storedId(draft: TurnDraft | undefined, givenSessionId: string): string {
  if (draft === undefined) return givenSessionId
  return draft.storedRevision === undefined ? '' : draft.base.id
}

/**
 * The state of a session that the turn left unchanged; `undefined` if the store must be read.
 *
 * @param error - The failure of the turn, or of the save after it.
 */
function stateAfter(control: TurnControl, error: AnyFlowError, givenSessionId: string): SessionState | undefined {
  const { draft, stateOfGivenId } = control
  const isStored = draft?.storedRevision !== undefined
  if (givenSessionId === '' && !isStored) return 'none'
  if (isOutcomeUnknown(error)) return 'unknown'
  if (error.code === 'SESSION_CONFLICT') return undefined
  if (isStored) return 'running'
  return stateOfGivenId ?? stateUnseen(error)
}

/** The text of a failure if saving the session failed too (contract 4.5.4). */
function withSecond(control: TurnControl, text: string, second: AnyFlowError, goesOn: boolean): string {
  const { engine } = control
  if (engine.errorText !== 'full') {
    // The application's `errorText` has chosen the first text; the second one is not for users.
    logFailure(engine, second, control.ids)
    return text
  }
  return `${text} Saving the ${goesOn ? '' : 'aborted '}session failed: ${second.message}`
}

/**
 * Stores the session as before the turn, plus the error text and the turn's spending.
 *
 * @param abortedBy - The code of the error that aborts the session; repeats of the request get it too. Default: the
 * session goes on, and a repeat runs.
 */
function saveFailure(
  control: TurnControl,
  draft: TurnDraft,
  text: string,
  abortedBy: FlowErrorCode | undefined,
): Promise<void> {
  const { effects, engine } = control
  const { clock, generateId, session } = engine
  const { storedRevision, usage, beforeTurn } = draft
  draft.budget?.keepTime(usage)
  const document: SessionDocument = {
    ...(effects === undefined ? beforeTurn : effects.addTo(beforeTurn)),
    revision: nextRevision(storedRevision, generateId('revision')),
    runStatus: abortedBy === undefined ? 'running' : 'aborted',
    savedAt: isoTime(clock.now()),
    error: withText(beforeTurn.error, text, control.input.event),
    usage,
  }
  const { input, lockHolder } = control
  if (abortedBy === undefined || input.idempotency === undefined) {
    return session.access.write(document, storedRevision, { hint: unchangedLists, holder: lockHolder })
  }
  const added = { appended: { receipts: 1 } }
  const answered = withReceipt(document, input.idempotency, abortedBy)
  return session.access.write(answered, storedRevision, { hint: added, holder: lockHolder })
}

/** The texts of a document with one more. Of an event, only the last one is kept, so that it pushes no other out. */
function withText(texts: readonly string[], text: string, event: TurnInput['event']): string[] {
  const prefix = event && `Event '${event.name}': `
  const others = prefix === undefined ? texts : texts.filter((one) => !one.startsWith(prefix))
  return [...others, (prefix ?? '') + text].slice(-maxErrors)
}

/** An aborted document, with a receipt that records the failure as the answer to the request. */
function withReceipt(document: SessionDocument, { key, request }: RequestKey, code: FlowErrorCode): SessionDocument {
  const receipts = new GrowingList(document.receipts ?? shareList([]))
  receipts.push(Object.freeze({ key, request, code }))
  return { ...document, bytes: document.bytes + receipts.addedBytes, receipts: receipts.list }
}
