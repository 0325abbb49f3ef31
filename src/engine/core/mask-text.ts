/**
 * One call of the option `mask` of the engine. What it is called with is decided in
 * `turn/mask-turn.ts` and `error-text.ts`.
 */
import { flowCodeError } from '../../errors/engine-errors.js'
import { isPromise } from '../../util/observed-promise.js'
import type { FlowEngineOptions } from './engine-options.js'

export type Mask = NonNullable<FlowEngineOptions['mask']>

/**
 * Masks one text.
 *
 * @throws `FlowCodeError`, without what the mask threw: that may quote the text.
 */
export function maskText(mask: Mask, text: string, where: Parameters<Mask>[1]): string {
  let returned: unknown
  let problem = 'it threw an error'
  try {
    returned = mask(text, where)
    if (typeof returned === 'string') return returned
    problem = isPromise(returned) ? 'got a promise' : `got ${returned === null ? 'null' : typeof returned}`
  } catch {}
  // A promise is not awaited, and if it rejects, nobody else would handle that.
  Promise.resolve(returned).catch(() => undefined)
  throw flowCodeError(`FlowEngine: mask must return a string for a '${where}'; ${problem}.`)
}
