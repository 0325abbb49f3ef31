/**
 * About how much memory a stored session takes, from sizes that are known: its history and
 * messages are not read for it.
 */
import type { SessionDocument } from '../../session/session-document.js'
import { jsonSize } from '../../util/json.js'

/** What a session without any text takes: the objects of its document, and its place in the store. */
const emptySession = 3072

/**
 * Bytes of memory for each byte of JSON: a text with one letter beyond Latin-1 takes two for each of its letters.
 * Measured in docs/decisions/memory-store.md.
 */
const perJsonByte = 2

/** Bytes of memory for each object and list, whatever is in it: `{}` is two bytes of JSON. */
const perObject = 64

/**
 * About how many bytes of memory a document takes: a whole number above 0.
 *
 * @param stateBytes - About how many bytes its context and states take as JSON. Default: they are measured.
 */
export function heapBytes(document: SessionDocument, stateBytes?: number): number {
  const { context, steps } = document.flow ?? {}
  const json = document.bytes + (stateBytes ?? jsonSize(context) + jsonSize(steps))
  let objects = countOnce(context)
  for (const step of Object.values(steps ?? {})) objects += countOnce(step)
  // A document that no engine wrote may have anything in place of `bytes`.
  const bytes = perJsonByte * Math.max(0, Number.isFinite(json) ? json : jsonSize(document))
  return Math.ceil(emptySession + bytes + perObject * objects)
}

/** Of frozen contexts and steps: one that many turns leave unchanged is counted once. */
const objectCounts = new WeakMap<object, number>()

function countOnce(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = objectCounts.get(value)
  if (count === undefined) {
    count = countObjects(value)
    if (Object.isFrozen(value)) objectCounts.set(value, count)
  }
  return count
}

function countObjects(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 1
  for (const key in value) count += countObjects((value as Record<string, unknown>)[key])
  return count
}
