/**
 * JSON values: their types, and the one walk that decides what this package may persist. It copies what it accepts,
 * so that a value checked here cannot change afterwards. What to do about a refusal is left to the caller.
 */

/** A value that JSON carries without loss. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A plain object that JSON carries without loss. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** Why a value is no JSON, and where in it. `path` reads like code: `state.items[2].price`. */
export class JsonError extends Error {
  readonly path: string

  constructor(path: string, problem: string) {
    super(`${path} ${problem}`)
    this.path = path
  }
}

/** Whether `value` is an object written as a literal, made by `JSON.parse`, or without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // A literal of another realm has another Object.prototype, whose own prototype is null all the same.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/**
 * Copies `value` as JSON would carry it: own enumerable properties, those that are `undefined` left out.
 *
 * @param path - How error messages name `value`.
 * @param maxDepth - Levels of nesting allowed; the outermost object or array is level 1.
 * @throws JsonError that names the path of the first thing JSON cannot carry.
 */
export function copyJson(value: unknown, path: string, maxDepth: number): JsonValue {
  try {
    return copy(value, path, maxDepth, [])
  } catch (error) {
    // Only with the limit off: the stack ends before the nesting does.
    if (error instanceof RangeError) throw new JsonError(path, 'is nested too deep for this runtime')
    throw error
  }
}

function copy(value: unknown, path: string, maxDepth: number, ancestors: object[]): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new JsonError(path, `is ${value}, which JSON cannot carry`)
      return value
    case 'object':
      if (value === null) return null
      if (ancestors.includes(value)) throw new JsonError(path, 'refers back to an object that contains it')
      if (ancestors.length >= maxDepth) {
        throw new JsonError(path, `is nested deeper than the limit maxJsonDepth (${maxDepth})`)
      }
      return copyObject(value, path, maxDepth, [...ancestors, value])
    default:
      throw new JsonError(path, `is ${nameOfType(value)}, which JSON cannot carry`)
  }
}

function copyObject(value: object, path: string, maxDepth: number, ancestors: object[]): JsonValue {
  if (Array.isArray(value)) {
    return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, maxDepth, ancestors))
  }
  if (!isPlainObject(value)) {
    throw new JsonError(path, `is an instance of ${nameOfClass(value)}, which JSON cannot carry; store plain data`)
  }
  const result: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    // Assigning it would change the prototype, and the key would be lost.
    if (key === '__proto__') throw new JsonError(path, 'has a key named __proto__, which is refused')
    const property = value[key]
    if (property !== undefined) result[key] = copy(property, joinPath(path, key), maxDepth, ancestors)
  }
  return result
}

function joinPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
}

function nameOfType(value: unknown): string {
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`
}

function nameOfClass(value: object): string {
  const constructor: unknown = Object.getPrototypeOf(value)?.constructor
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'a class'
}

/** Bytes of `text` in UTF-8. A lone surrogate counts as the three bytes of its replacement character. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A pair takes four bytes: two of its units were counted already, and two are added for the first one.
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++
  }
  return bytes
}

/** About how many bytes `value` takes as JSON in UTF-8: exact but for characters that JSON escapes. */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return utf8Length(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  let size = 2
  if (Array.isArray(value)) {
    for (const item of value) size += jsonSize(item) + 1
    return size
  }
  for (const key of Object.keys(value)) {
    size += utf8Length(key) + 4 + jsonSize((value as Record<string, unknown>)[key])
  }
  return size
}

/** Freezes `value` and all that it holds, and returns it. Expects a tree, as {@link copyJson} makes it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key])
  return Object.freeze(value)
}
