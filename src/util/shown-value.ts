/** Describes an unexpected value for error messages: `got the text '3'`. */

import { isPromise } from './observed-promise.js'
import { shownName } from './shown-name.js'

/**
 * The kind of a value with its text, number or class. For a promise it adds advice: usually an `await` is missing.
 */
export function shownValue(value: unknown): string {
  if (typeof value === 'string') return `the text '${shownName(value)}'`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return shownFunction(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (isPromise(value)) return 'a promise: await it first'
  if (Array.isArray(value)) return 'a list'
  const name: unknown = value.constructor?.name
  const isNamed = typeof name === 'string' && name !== '' && name !== 'Object'
  return isNamed ? `an object of the class '${shownName(name)}'` : 'an object'
}

function shownFunction(value: { readonly name: string }): string {
  const kind = /^class\b/.test(Function.prototype.toString.call(value)) ? 'class' : 'function'
  return value.name === '' ? `a ${kind} without a name` : `the ${kind} '${shownName(value.name)}'`
}
