/** The envelopes that `run`, `execute` and `deleteSession` resolve to (contract 2.3, 2.5, 4.5). */
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { ReplyPart } from '../../model/reply-part.js'
import type { HttpContentType } from '../../util/http-content-type.js'
import type { ExecuteDeleteResult, ExecuteResult, SessionState } from './engine-options.js'

/** The default content type. The value, not the enumeration, which is long and not used by every application. */
export const plain: HttpContentType = 'text/plain'

/** The reply of a turn to the user. */
export interface TurnReply {
  readonly text: string
  readonly contentType: string
  readonly encoding: 'base64' | undefined
}

/** The result of a turn; the state of its session may still have to be read from the store. */
export type TurnOutcome = Omit<ExecuteResult, 'sessionState'> & { readonly sessionState: SessionState | undefined }

/** @param turn - The number of the turn, if the reply has parts. */
export function successEnvelope(
  session: string,
  reply: TurnReply,
  completed: boolean,
  parts?: readonly ReplyPart[],
  turn?: number,
): ExecuteResult {
  const response = { success: true, completed, message: reply.text, session, contentType: reply.contentType }
  const sessionState = completed ? 'completed' : 'running'
  const { encoding } = reply
  if (encoding === undefined && parts === undefined) return { response, sessionState }
  return { response, sessionState, ...(encoding && { encoding }), ...(parts && turn !== undefined && { parts, turn }) }
}

/** @param message - The text for the user. */
export function failureEnvelope<State extends SessionState | undefined>(
  session: string,
  message: string,
  error: AnyFlowError,
  sessionState: State,
): Omit<ExecuteResult, 'sessionState'> & { readonly sessionState: State } {
  return { response: { success: false, completed: true, message, session, contentType: plain }, sessionState, error }
}

export function deleteSuccess(session: string): ExecuteDeleteResult {
  return { result: { success: true, session } }
}

/** @param message - The text for the user. */
export function deleteFailure(session: string, message: string, error: AnyFlowError): ExecuteDeleteResult {
  return { result: { success: false, message, session }, error }
}
