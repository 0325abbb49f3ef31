/**
 * Copies a document with the same result as a round trip through JSON, but faster: lists that are known to be deeply
 * frozen are shared, and a frozen copy shares unchanged values with the previous copy.
 */
import { isPlainObject, setOwn } from '../util/json.js'
import { isFrozenList } from './lists/shared-lists.js'
import type { SessionDocument } from './session-document.js'

/** A copy of `document` that may be changed. It shares only frozen lists with the original. */
export function copyDocument(document: SessionDocument): SessionDocument {
  return copyOuterLevels(document, undefined, (value) => value)
}

/**
 * A deeply frozen copy of `document`.
 *
 * @param previous - A frozen copy of an earlier version of `document`. Objects that are identical in both are shared.
 * Default: none are.
 */
export function frozenCopy(document: SessionDocument, previous?: SessionDocument): SessionDocument {
  return copyOuterLevels(document, previous, Object.freeze)
}

/** The last step of a copy: returns it unchanged, or frozen. */
type Finish = <T extends object>(copy: T) => T

/** Spreads the outer two levels, which have one shape each: faster than the walk below, which sees every shape. */
function copyOuterLevels(
  document: SessionDocument,
  previous: SessionDocument | undefined,
  finish: Finish,
): SessionDocument {
  const copy: { flow: unknown } = { ...document, flow: null }
  copyFields(copy, previous, finish)
  const { flow } = document
  copy.flow = isPlainData(flow)
    ? finish(copyFields({ ...flow }, previous?.flow, finish))
    : copyValue(flow, undefined, finish)
  return finish(copy as SessionDocument)
}

/** Replaces the values of `object` by copies, and returns it. */
function copyFields(object: object, previous: unknown, finish: Finish): object {
  const fields = object as Record<string, unknown>
  for (const key in fields) {
    const value = fields[key]
    const copy = copyValue(value, fieldOf(previous, key), finish)
    if (copy === undefined) delete fields[key]
    else if (!Object.is(copy, value)) fields[key] = copy
  }
  return object
}

/** JSON has no negative zero, and writes `null` for NaN and the infinities. */
function copyNumber(value: number): number | null {
  if (!Number.isFinite(value)) return null
  return value === 0 ? 0 : value
}

/** The value after a round trip through JSON; `undefined` if JSON leaves it out. */
function copyValue(value: unknown, previous: unknown, finish: Finish): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return copyNumber(value)
  if (typeof value === 'object' && value === previous) return value
  if (Array.isArray(value)) return isFrozenList(value) ? value : copyList(value, finish)
  if (isPlainData(value)) return copyObject(value, previous, finish)
  const text: string | undefined = JSON.stringify(value)
  return text === undefined ? undefined : copyValue(JSON.parse(text), undefined, finish)
}

function isPlainData(value: unknown): value is Record<string, unknown> {
  return isPlainObject(value) && typeof value.toJSON !== 'function'
}

function copyList(list: readonly unknown[], finish: Finish): readonly unknown[] {
  const copy: unknown[] = []
  for (const item of list) copy.push(copyValue(item, undefined, finish) ?? null)
  return finish(copy)
}

function copyObject(object: Record<string, unknown>, previous: unknown, finish: Finish): Record<string, unknown> {
  const copy = {}
  for (const key in object) {
    const value = copyValue(object[key], fieldOf(previous, key), finish)
    if (value !== undefined) setOwn(copy, key, value)
  }
  return finish(copy)
}

/** Reads an own property of a value that may not be an object. */
function fieldOf(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key)) return undefined
  return (object as Record<string, unknown>)[key]
}
