/** Tells the kind of a value that JavaScript code passed, and shows the value in a message. */
import { show } from './expectation-error.js'

/** Whether a value is a step class, of this copy of the package or another. */
export function isStepClass(value: unknown): boolean {
  const prototype: unknown = typeof value === 'function' ? value.prototype : undefined
  return isObject(prototype) && 'initialState' in prototype
}

/** Shows a value in a message; shows only the name of a class. */
export function shownStep(value: unknown): string {
  return typeof value === 'function' ? `the class ${value.name}` : show(value)
}

/** Whether a value is a step class, or may be a step ID. */
export function isStep(value: unknown): boolean {
  return isText(value) || isStepClass(value)
}

/** Whether a value is a string. */
export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Whether a value is an object, and not a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a list of such entries. */
export function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry)
}
