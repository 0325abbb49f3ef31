/**
 * Checks the options that an application passes to a function or a class, here and in the adapters. Every failure is an
 * `InvalidInputError` whose message begins with the function or class that was called. In the functions below, `caller`
 * is the name of that function or class, and `path` is the path of the value in its options: `limits`, `cors.origin`.
 */
import { type InvalidInputError, invalidInput } from '../errors/engine-errors.js'
import { isPromise } from './observed-promise.js'
import { shownValue } from './shown-value.js'

export { invalidInput }

/** The allowed names of an options object: every key of its type, so that the compiler finds a missing name. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: unknown }

/** The range of numbers that an option accepts. */
export interface NumberRange {
  /** The smallest allowed number. Default: any number above 0. */
  readonly min?: number
  /** The largest allowed number. Default: none. */
  readonly max?: number
  /** Whether the number must be whole. Default `false`. */
  readonly whole?: boolean
  /** Whether `Infinity` is refused. Default `false`: `Infinity` means no limit. */
  readonly finite?: boolean
}

/**
 * Checks that `options` is an object, and that all of its names are in `known`.
 *
 * @param path - The path of nested options. Default: `options` are all options of the caller.
 * @throws `InvalidInputError`
 */
export function checkOptionNames(caller: string, options: unknown, known: object, path?: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidInput(`${caller}: ${path ?? 'the options'} must be an object.`)
  }
  const unknown = findUnknownName(options, known)
  if (unknown === undefined) return
  const [option, owner] = path === undefined ? [unknown, ''] : [`${path}.${unknown}`, ` of ${path}`]
  const names = Object.keys(known)
  throw invalidInput(
    `${caller}: there is no option '${option}'. The options${owner} are ${names.join(', ')}.${hintAt(unknown, names)}`,
  )
}

/**
 * Returns ` Did you mean '...'?` with the first similar name. A name is similar if it differs from `unknown` by one
 * letter (missing, added, changed, or swapped with the next), or if it shares whole words with it: `message` matches
 * `userMessage`, but `own` does not match `unknownSession`.
 */
export function hintAt(unknown: string, names: readonly string[]): string {
  const words = wordsOf(unknown)
  const meant = names.find((name) => {
    const known = wordsOf(name)
    return known.includes(words) || words.includes(known) || isOneLetterApart(unknown.toLowerCase(), name.toLowerCase())
  })
  return meant === undefined ? '' : ` Did you mean '${meant}'?`
}

/** `-user-message-` for `userMessage`, `-turn-end-` for `turn:end`. */
function wordsOf(name: string): string {
  return `-${name.replaceAll(':', '-').replace(/[A-Z]/g, '-$&').toLowerCase()}-`
}

function isOneLetterApart(a: string, b: string): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const [restOfA, restOfB] = [a.slice(at + 1), b.slice(at + 1)]
  return (
    restOfA === restOfB ||
    restOfA === b.slice(at) ||
    a.slice(at) === restOfB ||
    (a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2))
  )
}

/** The first own name of `given` that is not in `known`. */
export function findUnknownName(given: object, known: object): string | undefined {
  for (const name of Object.keys(given)) if (!Object.hasOwn(known, name)) return name
  return undefined
}

/**
 * Checks an object of numbers, and fills in the defaults of numbers that are absent or `undefined`.
 *
 * @param path - The path of `given`, if these are nested options.
 * @param rangeOf - The range of each option. Default: any number above 0.
 * @throws `InvalidInputError`
 */
export function numbersWithDefaults<T extends { readonly [Name in keyof T]: number }>(
  caller: string,
  given: { readonly [Name in keyof T]?: number | undefined } | undefined,
  defaults: T,
  { path, rangeOf }: { readonly path?: string; readonly rangeOf?: (name: string) => NumberRange } = {},
): T {
  if (given === undefined) return Object.freeze({ ...defaults })
  checkOptionNames(caller, given, defaults, path)
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const [name, value] of entries) {
    checkNumber(caller, path === undefined ? name : `${path}.${name}`, value, rangeOf?.(name))
  }
  return Object.freeze({ ...defaults, ...Object.fromEntries(entries) })
}

/** The error of a function whose first argument is not an engine. Often it is a promise that was not awaited. */
export function notAnEngine(value: unknown, caller: string): InvalidInputError {
  const got = isPromise(value) ? '; got a promise: await FlowEngine.create()' : ''
  return invalidInput(`${caller}: the first argument must be a FlowEngine${got}.`)
}

/** @throws `InvalidInputError` if `value` is given and lacks one of the methods; the message names the first. */
export function checkMethods(caller: string, path: string, value: unknown, methods: readonly string[]): void {
  if (value === undefined) return
  const missing = methods.find((method) => typeof (value as Record<string, unknown> | null)?.[method] !== 'function')
  if (missing !== undefined) throw invalidInput(`${caller}: ${path} must have the method ${missing}.`)
}

/** @throws `InvalidInputError` if `value` is not a number in this range. */
export function checkNumber(caller: string, path: string, value: unknown, range: NumberRange = {}): void {
  if (isInRange(value, range)) return
  const { min, max, whole = false, finite = false } = range
  const least = min === undefined ? 'above 0' : `of at least ${min}`
  const bounds = max === undefined ? least : `from ${min ?? 0} to ${max}`
  const expected = `${whole ? 'a whole number' : 'a number'} ${bounds}`
  if (finite) throw invalidInput(`${caller}: ${path} must be ${expected}; got ${shownValue(value)}.`)
  throw invalidInput(`${caller}: ${path} must be ${expected}, or Infinity for no bound; got ${shownValue(value)}.`)
}

function isInRange(value: unknown, { min, max = Infinity, whole = false, finite = false }: NumberRange): boolean {
  if (typeof value !== 'number') return false
  if (value === Infinity) return !finite
  if (whole && !Number.isSafeInteger(value)) return false
  return (min === undefined ? value > 0 : value >= min) && value <= max
}
