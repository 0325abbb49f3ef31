/**
 * JSON values: their types, and `copyJson`, which decides what this package persists. It returns a copy, so that a
 * value cannot change after it was checked. The caller chooses the error for a value that JSON cannot represent.
 */
import { shownName } from './shown-name.js'

/** A value that JSON represents without loss. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A plain object that JSON represents without loss. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** The reason why JSON cannot represent a value. `path` names the part at fault, as in code: `state.items[2].price`. */
export class JsonError extends Error {
  readonly path: string
  /** Whether the value is nested too deep. */
  readonly isTooDeep: boolean
  /** Whether the value has too many bytes. */
  readonly isTooLarge: boolean

  constructor(path: string, problem: string, excess?: 'depth' | 'bytes') {
    super(`${path} ${problem}`)
    this.path = path
    this.isTooDeep = excess === 'depth'
    this.isTooLarge = excess === 'bytes'
  }
}

/** Whether `value` is an object literal, an object from `JSON.parse`, or an object without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // An object from another realm has another Object.prototype, whose prototype is null too.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/**
 * Copies `value` as JSON represents it: own enumerable properties, except `undefined` ones.
 *
 * @param path - How error messages name `value`.
 * @param maxDepth - Levels of nesting allowed; the outermost object or array is level 1.
 * @param refuse - Creates the error to throw. `problem` is a clause that begins with the path. Default: a JsonError.
 * @param maxBytes - Bytes allowed, counted as in {@link jsonSize}. Copying stops at the limit. Default: no limit.
 * @throws the error that `refuse` returns, for the first value that JSON cannot represent.
 */
export function copyJson(
  value: unknown,
  path: string,
  maxDepth: number,
  refuse?: (problem: string, cause: JsonError) => Error,
  maxBytes: number = Number.POSITIVE_INFINITY,
): JsonValue {
  try {
    return copy(value, { root: path, maxDepth, maxBytes, bytes: 0, ancestors: [], keys: [] })
  } catch (error) {
    // A RangeError can only come from a stack overflow, if the caller set no limit on nesting.
    const cause = error instanceof RangeError ? new JsonError(path, 'is nested too deep for this runtime') : error
    throw cause instanceof JsonError && refuse !== undefined ? refuse(cause.message, cause) : cause
  }
}

/** The position in the value during copying. The path's text is built only for an error. */
interface Walk {
  readonly root: string
  readonly maxDepth: number
  readonly maxBytes: number
  /** Bytes counted so far, if there is a limit. */
  bytes: number
  readonly ancestors: object[]
  readonly keys: (string | number)[]
}

/** Counts bytes before they are copied. @param more - Bytes in addition to those of `text`, such as brackets. */
function count(walk: Walk, more: number, text = ''): void {
  const { maxBytes } = walk
  if (maxBytes === Number.POSITIVE_INFINITY) return
  // A UTF-16 unit takes at least one byte, so a text that is too long need not be read to its end.
  walk.bytes += more + (text.length > maxBytes ? text.length : utf8Length(text))
  if (walk.bytes > maxBytes) throw new JsonError(walk.root, `has more than ${maxBytes} bytes`, 'bytes')
}

function copy(value: unknown, walk: Walk): JsonValue {
  switch (typeof value) {
    case 'string':
      count(walk, 2, value)
      return value
    case 'boolean':
      count(walk, value ? 4 : 5)
      return value
    case 'number':
      return copyNumber(value, walk)
    case 'object':
      if (value !== null) return copyNested(value, walk)
      count(walk, 4)
      return null
    default:
      throw refusal(walk, `is ${value === undefined ? '' : 'a '}${typeof value}, which JSON cannot carry`)
  }
}

function copyNumber(value: number, walk: Walk): number {
  if (!Number.isFinite(value)) throw refusal(walk, `is ${value}, which JSON cannot carry`)
  // JSON has no negative zero, and a state must be the same before and after it is stored.
  const copied = value === 0 ? 0 : value
  if (walk.maxBytes !== Number.POSITIVE_INFINITY) count(walk, String(copied).length)
  return copied
}

function copyNested(value: object, walk: Walk): JsonValue {
  const { ancestors, maxDepth } = walk
  if (ancestors.includes(value)) throw refusal(walk, 'is part of itself')
  if (ancestors.length >= maxDepth) throw refusal(walk, `is nested deeper than ${maxDepth} levels`, 'depth')
  // Count the brackets. Each entry counts a comma, although the last one has none.
  count(walk, 1)
  ancestors.push(value)
  const result = Array.isArray(value) ? copyList(value, walk) : copyObject(value, walk)
  ancestors.pop()
  return result
}

function copyList(list: readonly unknown[], walk: Walk): JsonValue {
  const result: JsonValue[] = []
  if (list.length === 0) count(walk, 1)
  for (let index = 0; index < list.length; index++) {
    count(walk, 1)
    walk.keys.push(index)
    result.push(copy(list[index], walk))
    walk.keys.pop()
  }
  return result
}

function copyObject(value: object, walk: Walk): JsonValue {
  if (!isPlainObject(value)) {
    const name = nameOfClass(value)
    throw refusal(
      walk,
      `is an instance of ${name}, which JSON cannot carry${name === 'Date' ? ': use date.toISOString()' : ''}`,
    )
  }
  const result: Record<string, JsonValue> = {}
  let isEmpty = true
  for (const key of Object.keys(value)) {
    // An assignment would change the prototype instead, and the key would be lost.
    if (key === '__proto__') throw refusal(walk, 'has a key named __proto__, which is reserved')
    const property = value[key]
    if (property === undefined) continue
    // Count two quotes, a colon and a comma.
    count(walk, 4, key)
    walk.keys.push(key)
    result[key] = copy(property, walk)
    walk.keys.pop()
    isEmpty = false
  }
  if (isEmpty) count(walk, 1)
  return result
}

function refusal({ root, keys }: Walk, problem: string, excess?: 'depth'): JsonError {
  let path = root
  for (const key of keys) {
    const shown = typeof key === 'number' ? key : shownName(key)
    path += isIdentifier(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`
  }
  return new JsonError(path, problem, excess)
}

function isIdentifier(key: string | number): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(String(key))
}

function nameOfClass(value: object): string {
  return String(Object.getPrototypeOf(value).constructor?.name || 'a class')
}

/** Sets an own property, even one named `__proto__`, for which an assignment would change the prototype. */
export function setOwn(object: object, key: string, value: unknown): void {
  if (key === '__proto__') defineOwn(object, key, value)
  else (object as Record<string, unknown>)[key] = value
}

/** Defines an own property, even if the prototype has an accessor or a read-only property of that name. */
export function defineOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
}

/** The length of `text` in UTF-8 bytes. A lone surrogate counts as the three bytes of its replacement character. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A surrogate pair takes four bytes: its two units counted as two, and two were added for the first one.
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++
  }
  return bytes
}

/**
 * Whether `text` has more than the given number of bytes in UTF-8. A UTF-16 unit takes one to three bytes, so they are
 * counted only if the length does not decide.
 */
export function isLarger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && (text.length > maxBytes || utf8Length(text) > maxBytes)
}

/** The length of `value` as JSON in UTF-8 bytes. A character that JSON escapes counts without its escape. */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return utf8Length(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  // Brackets and commas: one more than there are entries, but at least two.
  if (Array.isArray(value)) {
    let size = Math.max(2, value.length + 1)
    for (const item of value) size += jsonSize(item)
    return size
  }
  let size = 1
  for (const key in value) size += utf8Length(key) + 4 + jsonSize((value as Record<string, unknown>)[key])
  return Math.max(2, size)
}

/** Freezes `value` and everything in it, and returns it. Expects a tree, such as {@link copyJson} returns. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) for (const item of value) deepFreeze(item)
  else for (const key in value) deepFreeze(value[key])
  return Object.freeze(value)
}
