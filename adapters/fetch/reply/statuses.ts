/**
 * The HTTP status of a failure. The contract has one for all, 400; an application that asks for `statuses: 'precise'`
 * gets the table here, by error code. Also the code of what the adapter refuses, by that status.
 */
import type { FlowError, FlowErrorCode } from '../../../src/index.js'
import type { HeaderRecord } from '../header-names.js'
import { internalCode } from './outcome.js'

/** Which status a failure has: see the option `statuses`. */
export type StatusMode = 'contract' | 'precise'

const precise: ReadonlyMap<FlowErrorCode, number> = new Map([
  ['INVALID_INPUT', 400],
  ['FLOW_NOT_FOUND', 404],
  ['SESSION_NOT_FOUND', 404],
  ['SESSION_CONFLICT', 409],
  ['SESSION_FLOW_MISMATCH', 409],
  ['SESSION_FLOW_INVARIANT', 409],
  ['SESSION_BUSY', 409],
  ['TURN_SUPERSEDED', 409],
  ['IDEMPOTENCY_MISMATCH', 422],
  ['LIMIT_EXCEEDED', 422],
  ['BUDGET_EXCEEDED', 422],
  ['TURN_ABORTED', 499],
  ['MODEL_ERROR', 502],
  ['MODEL_BLOCKED', 502],
  ['ENGINE_BUSY', 503],
  ['ENGINE_CLOSED', 503],
  ['TURN_TIMEOUT', 504],
])

/** The codes of requests that the adapter refuses, by their precise status. All others are `INVALID_INPUT`. */
const refused: ReadonlyMap<number, string> = new Map([
  [404, 'ROUTE_NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [408, 'LIMIT_EXCEEDED'],
  [413, 'LIMIT_EXCEEDED'],
  [422, 'LIMIT_EXCEEDED'],
  [500, internalCode],
])

/** The code of a request that the adapter refuses. */
export function codeOfRefusal(preciseStatus: number): string {
  return refused.get(preciseStatus) ?? 'INVALID_INPUT'
}

/** Adds when a request may be sent again, to a reply with a status that passes. */
export function addRetryAfter(headers: HeaderRecord, status: number): void {
  if (status === 429 || status === 503) headers['Retry-After'] = '1'
}

/** The status of a failure that the engine reported. Codes outside the table are 500. */
export function statusOf(error: FlowError | undefined, mode: StatusMode): number {
  if (mode === 'contract') return 400
  if (error === undefined) return 500
  // A full queue passes: the same request may succeed in a moment. No other limit does.
  if (error.code === 'LIMIT_EXCEEDED' && 'limit' in error && error.limit === 'maxQueuedTurnsPerSession') return 429
  return precise.get(error.code) ?? 500
}
