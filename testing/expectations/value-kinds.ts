/** Of which kind a value is that a program without types may have passed, and how a message shows it. */
import { show } from './expectation-error.js'

/** Whether a value is the class of a step, of this copy of the package or another. */
export function isStepClass(value: unknown): boolean {
  const prototype: unknown = typeof value === 'function' ? value.prototype : undefined
  return isObject(prototype) && 'initialState' in prototype
}

/** A value in a message; a class by its name alone. */
export function shownStep(value: unknown): string {
  return typeof value === 'function' ? `the class ${value.name}` : show(value)
}

/** Whether a value is the class of a step, or may be the ID of one. */
export function isStep(value: unknown): boolean {
  return isText(value) || isStepClass(value)
}

/** Whether a value is a text. */
export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Whether a value is an object, and not a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a list of these. */
export function isListOf(value: unknown, isEntry: (entry: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isEntry)
}
