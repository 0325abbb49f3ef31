/**
 * The receipts of a session. Each records that the request with an idempotency key was answered, and where its reply
 * is. A repeat gets that reply, and no turn runs.
 */

import type { Clock } from '../../config/clock.js'
import { IdempotencyMismatchError } from '../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../errors/error-facts.js'
import { FlowError } from '../../errors/flow-error.js'
import type { SessionDocument, SessionReceipt } from '../../session/session-document.js'
import type { EngineEventMap, EngineEvents } from '../core/engine-events.js'
import type { ExecuteResult } from '../core/engine-options.js'
import { failureEnvelope, plain, successEnvelope } from '../core/run-envelope.js'
import type { RequestKey } from '../core/turn-input.js'

/** A recorded outcome. */
export interface Replay {
  readonly result: ExecuteResult
  /** The ID of the turn; empty if the document does not have it. */
  readonly turnId: string
}

/**
 * The recorded outcome of the request with a key; `undefined` if the session has no receipt for the key.
 *
 * @throws `IdempotencyMismatchError` if the key was used for another request, or its reply is no longer stored
 */
export function replayOf(document: SessionDocument, requestKey: RequestKey | undefined): Replay | undefined {
  const receipt = document.receipts?.find(({ key }) => key === requestKey?.key)
  if (receipt === undefined) return undefined
  if (receipt.request !== requestKey?.request) throw new IdempotencyMismatchError()
  const replay = receipt.turn === undefined ? failureOf(document, receipt) : replyOf(document, receipt)
  if (replay === undefined) throw new IdempotencyMismatchError()
  return replay
}

/** Whether a session has a receipt for the key of a message. */
export function hasReceipt(
  document: SessionDocument | undefined,
  { idempotency }: { readonly idempotency: RequestKey | undefined },
): boolean {
  return idempotency !== undefined && document?.receipts?.some(({ key }) => key === idempotency.key) === true
}

function replyOf(document: SessionDocument, { turn, event }: SessionReceipt): Replay | undefined {
  const entry = document.history.find((one) => one.turn === turn)
  // The sender of an event needs to know only that it was taken.
  if (entry === undefined && !event) return undefined
  const { reply: text = '', contentType = plain, encoding, parts, id = '' } = entry ?? {}
  // No turn follows the one that completed the session.
  const completed = document.runStatus === 'completed' && turn === document.turns
  const result = successEnvelope(document.id, { text, contentType, encoding }, completed, parts, turn)
  return { result: { ...result, sessionState: document.runStatus, replayed: true }, turnId: id }
}

/** The failure that aborted the session: its text is the last one of the document. */
function failureOf({ id, error: texts, runStatus }: SessionDocument, receipt: SessionReceipt): Replay {
  const text = texts.at(-1) ?? ''
  const code = (receipt.code ?? 'FLOW_ERROR') as FlowErrorCode
  const error = new FlowError({ code, message: text })
  return { result: { ...failureEnvelope(id, text, error, runStatus), replayed: true }, turnId: '' }
}

/** Reports that a request got the outcome of an earlier one. */
export function reportReplay(
  { events, clock }: { readonly events: EngineEvents; readonly clock: Clock },
  { owner, ...turn }: Omit<EngineEventMap['turn:replayed'], 'at' | 'owner'> & { readonly owner: string | undefined },
): void {
  if (!events.hasListeners('turn:replayed')) return
  events.emit('turn:replayed', { ...turn, ...(owner === undefined ? {} : { owner }), at: clock.now() })
}
