/** The time limits that steps and tools may set for themselves. */
import { flowCodeError } from '../errors/engine-errors.js'
import { shownValue } from '../util/shown-value.js'

/**
 * Refuses a time limit that is given and is not a number above 0. `Infinity` switches the limit off.
 *
 * @param path - Names the value: `toolTimeoutMs of tool 'look_up'`.
 * @throws `FlowCodeError`
 */
export function checkTimeout(path: string, timeoutMs: unknown): void {
  if (timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs > 0)) return
  throw flowCodeError(`${path} must be a number above 0, or Infinity for no bound; got ${shownValue(timeoutMs)}.`)
}
