/**
 * One call of the engine's option `mask`. `turn/commit/mask-turn.ts` and `error-text.ts` decide which texts to mask.
 */
import { flowCodeError } from '../../errors/engine-errors.js'
import type { JsonValue } from '../../util/json.js'
import { isPromise } from '../../util/observed-promise.js'
import type { FlowEngineOptions } from './engine-options.js'

export type Mask = NonNullable<FlowEngineOptions['mask']>

/**
 * Masks one text.
 *
 * @throws `FlowCodeError` without the mask's own error, which may quote the text
 */
export function maskText(mask: Mask, text: string, where: Parameters<Mask>[1]): string {
  let returned: unknown
  let problem = 'it threw an error'
  try {
    returned = mask(text, where)
    if (typeof returned === 'string') return returned
    problem = isPromise(returned) ? 'got a promise' : `got ${returned === null ? 'null' : typeof returned}`
  } catch {}
  // A promise is not awaited, so its rejection must be handled here.
  Promise.resolve(returned).catch(() => undefined)
  throw flowCodeError(`FlowEngine: mask must return a string for a '${where}'; ${problem}.`)
}

/** Masks each string, key and number (as its digits) in JSON. A changed number becomes a string. */
export function maskJson(mask: Mask, value: JsonValue, where: Parameters<Mask>[1]): JsonValue {
  if (typeof value === 'string') return mask(value, where)
  if (typeof value === 'number') {
    const digits = String(value)
    const masked = mask(digits, where)
    return masked === digits ? value : masked
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one: JsonValue) => maskJson(mask, one, where))
  // A session with a key of this name could not be loaded again.
  const entries = Object.entries(value).map(([key, one]) => {
    const name = mask(key, where)
    return [name === '__proto__' ? '' : name, maskJson(mask, one, where)] as const
  })
  return Object.fromEntries(entries)
}
