/** Settings that came from outside: objects of numbers, each with a name. What they mean is decided elsewhere. */
import { InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { isPlainObject } from './json.js'

/**
 * The entries of `value`, without those that are `undefined`.
 *
 * @param name - How messages name it.
 * @throws {@link InvalidInputError} where it is no plain object, or has a name that is not `known`.
 */
export function settingsOf(value: unknown, name: string, known: readonly string[]): [string, unknown][] {
  if (!isPlainObject(value)) throw invalidInput(`${name} must be an object.`)
  return Object.entries(value).filter(([key, entry]) => {
    if (known.includes(key)) return entry !== undefined
    throw invalidInput(`${name} has no '${key}'. It has: ${known.join(', ')}.`)
  })
}

/**
 * Numbers by name: those given, and defaults for the others.
 *
 * @param name - How messages name them.
 * @param least - The least number allowed for a name. Default: any above 0.
 * @throws {@link InvalidInputError}
 */
export function withDefaults<T extends { readonly [Name in keyof T]: number }>(
  name: string,
  defaults: T,
  given: { readonly [Name in keyof T]?: number | undefined } = {},
  least?: (key: string) => number,
): T {
  const entries = settingsOf(given, name, Object.keys(defaults))
  for (const [key, value] of entries) checkNumber(value, `${name}.${key}`, least?.(key))
  return Object.freeze({ ...defaults, ...Object.fromEntries(entries) })
}

/**
 * @param least - The least of the allowed numbers. Default: any above 0.
 * @throws {@link InvalidInputError}
 */
export function checkNumber(value: unknown, name: string, least?: number): void {
  if (typeof value === 'number' && (least === undefined ? value > 0 : value >= least)) return
  const given = String(value)
  throw invalidInput(
    least === undefined
      ? `${name} must be a number above 0, or Infinity for no bound; got ${given}.`
      : `${name} must be a number of at least ${least}; got ${given}.`,
  )
}
