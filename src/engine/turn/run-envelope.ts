/** The envelopes that `run`, `execute` and `deleteSession` resolve to (contract 2.3, 2.5, 4.5). */
import type { FlowError } from '../../errors/flow-error.js'
import type { HttpContentType } from '../../http-content-type.js'
import type { ExecuteDeleteResult, ExecuteResult } from '../engine-options.js'

/** The default content type. The value, not the enumeration, which is long and not used by every application. */
export const plain: HttpContentType = 'text/plain'

/** The reply of a turn to the user. */
export interface TurnReply {
  readonly text: string
  readonly contentType: string
  readonly encoding: 'base64' | undefined
}

export function successEnvelope(session: string, reply: TurnReply, completed: boolean): ExecuteResult {
  const response = { success: true, completed, message: reply.text, session, contentType: reply.contentType }
  return reply.encoding === undefined ? { response } : { response, encoding: reply.encoding }
}

/**
 * @param secondFailure - What went wrong while the first failure was settled (contract 4.5.4).
 */
export function failureEnvelope(session: string, error: FlowError, secondFailure?: FlowError): ExecuteResult {
  const message =
    secondFailure === undefined
      ? error.message
      : `${error.message} Saving the aborted session failed: ${secondFailure.message}`
  return { response: { success: false, completed: true, message, session, contentType: plain }, error }
}

export function deleteSuccess(session: string): ExecuteDeleteResult {
  return { result: { success: true, session } }
}

export function deleteFailure(session: string, error: FlowError): ExecuteDeleteResult {
  return { result: { success: false, message: error.message, session }, error }
}
