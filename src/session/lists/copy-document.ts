/**
 * A document's copy, as a store that writes JSON would give it back, in less time: what is frozen all the way down
 * need not be copied.
 */
import { isPlainObject, setOwn } from '../../util/json.js'
import type { SessionDocument } from '../session-document.js'
import { freezeList, isFrozenList } from './shared-lists.js'

/** A copy of `document` that shares with it nothing but frozen lists. */
export function copyDocument(document: SessionDocument): SessionDocument {
  // The outer two levels are spread here, one shape each: faster than the walk below, which meets all shapes.
  const copy: { flow: unknown } = { ...document, flow: null }
  copyFields(copy)
  const { flow } = document
  copy.flow = isPlainData(flow) ? copyFields({ ...flow }) : copyValue(flow)
  return copy as SessionDocument
}

/** Freezes the lists of `document` that only grow, so that copies of it share them. */
export function freezeLists(document: SessionDocument): SessionDocument {
  // A store keeps what it is given; whether it is a document is for its reader to say.
  const { history, flow } = document as { history?: unknown; flow?: { memory?: unknown; sequence?: unknown } }
  freeze(history)
  freeze(flow?.sequence)
  for (const namespace of Object.values(flow?.memory ?? {}))
    freeze((namespace as { messages?: unknown } | null)?.messages)
  return document
}

function freeze(list: unknown): void {
  if (Array.isArray(list)) freezeList(list)
}

/** Puts copies in place of the values of `object`, and returns it. */
function copyFields(object: object): object {
  const fields = object as Record<string, unknown>
  for (const key in fields) {
    const value = fields[key]
    const copy = copyValue(value)
    if (copy === undefined) delete fields[key]
    else if (!Object.is(copy, value)) fields[key] = copy
  }
  return object
}

/** As JSON would carry it; `undefined` for what JSON leaves out. */
function copyValue(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (Array.isArray(value)) return isFrozenList(value) ? value : copyList(value)
  if (isPlainData(value)) return copyObject(value)
  const text: string | undefined = JSON.stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

function isPlainData(value: unknown): value is Record<string, unknown> {
  return isPlainObject(value) && typeof value.toJSON !== 'function'
}

function copyList(list: readonly unknown[]): unknown[] {
  const copy: unknown[] = []
  for (const item of list) copy.push(copyValue(item) ?? null)
  return copy
}

function copyObject(object: Record<string, unknown>): Record<string, unknown> {
  const copy = {}
  for (const key in object) {
    const value = copyValue(object[key])
    if (value !== undefined) setOwn(copy, key, value)
  }
  return copy
}
