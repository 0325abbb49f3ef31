/**
 * The facts of a turn's outcome that a reply shows: whether the session goes on, why a new one was started, and the
 * code of the error. An engine wrapper may leave these out, or fill them with anything; the reply must not break.
 */
import type { ExecuteResult, FlowError } from '../../../src/index.js'
import { codeHeader, type HeaderRecord, replayedHeader, restartedHeader, stateHeader } from '../core/header-names.js'

type SessionState = ExecuteResult['sessionState']
type Restarted = NonNullable<ExecuteResult['restarted']>

/** The states of a session. */
export const sessionStates: readonly SessionState[] = ['running', 'completed', 'aborted', 'none', 'unknown']

/** The reasons for a new session. */
export const restartReasons: readonly Restarted[] = ['unknown', 'completed', 'aborted', 'outdated', 'flow']

const states: ReadonlySet<unknown> = new Set(sessionStates)
const restarts: ReadonlySet<unknown> = new Set(restartReasons)

/** The code of a failure outside the engine. */
export const internalCode = 'INTERNAL_ERROR'

/** The state of the session; `unknown` if the result has none. */
export function stateOf(result: { readonly sessionState?: unknown }): SessionState {
  return states.has(result.sessionState) ? (result.sessionState as SessionState) : 'unknown'
}

/** Why a new session was started; `undefined` if the requested one continued. */
export function restartedOf({ restarted }: { readonly restarted?: unknown }): Restarted | undefined {
  return restarts.has(restarted) ? (restarted as Restarted) : undefined
}

/** `true` if the reply is replayed from an earlier request, otherwise `undefined`. */
export function replayedOf({ replayed }: { readonly replayed?: unknown }): true | undefined {
  return replayed === true ? true : undefined
}

/** The code of a failure, if it is a valid header value. */
export function codeOf(error: FlowError | undefined): string {
  const code: unknown = error?.code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : internalCode
}

/** Adds the headers that mark a replayed reply and a new session. */
export function addOriginHeaders(headers: HeaderRecord, result: Pick<ExecuteResult, 'restarted' | 'replayed'>): void {
  const restarted = restartedOf(result)
  if (restarted !== undefined) headers[restartedHeader] = restarted
  if (replayedOf(result) !== undefined) headers[replayedHeader] = 'true'
}

/** Adds the headers of a reply that is not streamed. */
export function addOutcomeHeaders(headers: HeaderRecord, result: ExecuteResult): void {
  headers[stateHeader] = stateOf(result)
  addOriginHeaders(headers, result)
  if (!result.response.success) headers[codeHeader] = codeOf(result.error)
}
