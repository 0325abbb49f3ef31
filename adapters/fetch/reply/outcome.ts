/**
 * What a reply says of its session and of a failure: whether the session goes on, why a new one answered, and the code
 * of the error. An object that stands in front of an engine may leave these out, or fill them with anything; a reply
 * must not break.
 */
import type { ExecuteResult, FlowError } from '../../../src/index.js'
import { codeHeader, type HeaderRecord, replayedHeader, restartedHeader, stateHeader } from '../core/header-names.js'

type SessionState = ExecuteResult['sessionState']
type Restarted = NonNullable<ExecuteResult['restarted']>

/** What a session can be. */
export const sessionStates: readonly SessionState[] = ['running', 'completed', 'aborted', 'none', 'unknown']

/** Why a new session can answer. */
export const restartReasons: readonly Restarted[] = ['unknown', 'completed', 'aborted', 'outdated', 'flow']

const states: ReadonlySet<unknown> = new Set(sessionStates)
const restarts: ReadonlySet<unknown> = new Set(restartReasons)

/** The code of a failure that did not come from the engine. */
export const internalCode = 'INTERNAL_ERROR'

/** The state of the session; `unknown` where the result does not say. */
export function stateOf(result: { readonly sessionState?: unknown }): SessionState {
  return states.has(result.sessionState) ? (result.sessionState as SessionState) : 'unknown'
}

/** Why a new session answered and not the one that was asked for; `undefined` where that one did. */
export function restartedOf({ restarted }: { readonly restarted?: unknown }): Restarted | undefined {
  return restarts.has(restarted) ? (restarted as Restarted) : undefined
}

/** Whether the reply is that of an earlier request; `undefined` where it is not. */
export function replayedOf({ replayed }: { readonly replayed?: unknown }): true | undefined {
  return replayed === true ? true : undefined
}

/** The code of a failure, such as a header can carry. */
export function codeOf(error: FlowError | undefined): string {
  const code: unknown = error?.code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : internalCode
}

/** Adds the headers that say which turn answered: that of an earlier request, and that of a new session. */
export function addOriginHeaders(headers: HeaderRecord, result: Pick<ExecuteResult, 'restarted' | 'replayed'>): void {
  const restarted = restartedOf(result)
  if (restarted !== undefined) headers[restartedHeader] = restarted
  if (replayedOf(result) !== undefined) headers[replayedHeader] = 'true'
}

/** Adds what the headers of a reply that is not a stream say. */
export function addOutcomeHeaders(headers: HeaderRecord, result: ExecuteResult): void {
  headers[stateHeader] = stateOf(result)
  addOriginHeaders(headers, result)
  if (!result.response.success) headers[codeHeader] = codeOf(result.error)
}
