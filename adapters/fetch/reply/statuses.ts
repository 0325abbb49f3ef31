/**
 * The HTTP status of a failure: 400 for all in the contract, or by error code with `statuses: 'precise'`. Also the
 * error code of a request that the adapter refuses.
 */
import { factsOf, passingLimits } from '../../../src/errors/error-facts.js'
import type { AnyFlowError } from '../../../src/index.js'
import type { HeaderRecord } from '../core/header-names.js'
import { internalCode } from './outcome.js'

/** The value of the option `statuses`. */
export type StatusMode = 'contract' | 'precise'

/** The status of `LIMIT_EXCEEDED` if a session or an owner has too many turns at the moment. */
export const fullQueueStatus = 429

/** The codes of requests that the adapter refuses, by their precise status. All others are `INVALID_INPUT`. */
const refused: ReadonlyMap<number, string> = new Map([
  [404, 'ROUTE_NOT_FOUND'],
  [405, 'METHOD_NOT_ALLOWED'],
  [408, 'LIMIT_EXCEEDED'],
  [409, 'IDEMPOTENCY_MISMATCH'],
  [413, 'LIMIT_EXCEEDED'],
  [422, 'LIMIT_EXCEEDED'],
  [500, internalCode],
])

/** The code of a request that the adapter refuses. */
export function codeOfRefusal(preciseStatus: number): string {
  return refused.get(preciseStatus) ?? 'INVALID_INPUT'
}

/** The status of a request that the adapter refuses. 404 and 405 are the same in both modes. */
export function statusOfRefusal(preciseStatus: number, mode: StatusMode): number {
  return mode === 'precise' || preciseStatus === 404 || preciseStatus === 405 ? preciseStatus : 400
}

/** Whether a request that failed with this status may succeed if it is sent again soon. */
export function isPassing(status: number): boolean {
  return status === 429 || status === 503
}

/** Adds `Retry-After` to a reply with a temporary status. */
export function addRetryAfter(headers: HeaderRecord, status: number): void {
  if (isPassing(status)) headers['Retry-After'] = '1'
}

/** The status of a failure that the engine reported. Codes outside the table are 500. */
export function statusOf(error: AnyFlowError | undefined, mode: StatusMode): number {
  if (mode === 'contract') return 400
  if (error === undefined) return 500
  if (error.code === 'LIMIT_EXCEEDED' && passingLimits.includes(error.limit)) return fullQueueStatus
  return factsOf(error.code).precise
}
