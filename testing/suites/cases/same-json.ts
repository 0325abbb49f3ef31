/** Whether two values are the same JSON, and where they first differ. The order of keys does not count. */

/** What differs: a path and two values in short. `undefined` if nothing does. */
export function findDifference(got: unknown, expected: unknown, path = 'the document'): string | undefined {
  if (Array.isArray(expected)) return differenceOfLists(got, expected, path)
  if (isObject(expected)) return differenceOfObjects(got, expected, path)
  return Object.is(got, expected) ? undefined : `${path} is ${inShort(got)} instead of ${inShort(expected)}`
}

/** A value as JSON carries it: a copy that shares nothing. */
export function throughJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value))
}

/** A value for a message: its JSON, cut, with what a terminal would not show written as escapes. */
export function inShort(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return `a ${typeof value}`
  if (Object.is(value, -0)) return '-0'
  if (typeof value === 'number' || value === undefined) return String(value)
  const json = JSON.stringify(value) ?? String(value)
  const inAscii = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const start = json.slice(0, 80).replace(/[^ -~]/g, inAscii)
  return start.length <= 80 && json.length <= 80 ? start : `${start.slice(0, 60)}... (${json.length} characters)`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function differenceOfLists(got: unknown, expected: readonly unknown[], path: string): string | undefined {
  if (!Array.isArray(got)) return `${path} is ${inShort(got)} instead of a list of ${expected.length}`
  if (got.length !== expected.length) return `${path} has ${got.length} entries instead of ${expected.length}`
  for (let index = 0; index < expected.length; index++) {
    const found = findDifference(got[index], expected[index], `${path}[${index}]`)
    if (found !== undefined) return found
  }
  return undefined
}

function differenceOfObjects(got: unknown, expected: Record<string, unknown>, path: string): string | undefined {
  if (!isObject(got) || Array.isArray(got)) return `${path} is ${inShort(got)} instead of an object`
  const prototype: unknown = Object.getPrototypeOf(got)
  if (prototype !== null && prototype !== Object.prototype) return `${path} is not a plain object`
  for (const key of Object.keys(expected)) {
    const keyPath = `${path}[${inShort(key)}]`
    // Own keys only: every object inherits a constructor and a __proto__ that were not stored.
    if (!Object.hasOwn(got, key)) return `${keyPath} is missing`
    const found = findDifference(got[key], expected[key], keyPath)
    if (found !== undefined) return found
  }
  const added = Object.keys(got).find((key) => !Object.hasOwn(expected, key))
  return added === undefined ? undefined : `${path}[${inShort(added)}] is there and should not be`
}
