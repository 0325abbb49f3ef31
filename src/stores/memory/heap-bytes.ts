/**
 * Estimates the memory that a stored session takes. It uses sizes that are already known, and does not read the
 * history or the messages.
 */
import type { SessionDocument } from '../../session/session-document.js'
import { jsonSize } from '../../util/json.js'

/** Bytes that a session without any text takes: the objects of its document, and its entry in the store. */
const emptySession = 3072

/**
 * Bytes of memory for each byte of JSON: a string with one letter beyond Latin-1 takes two bytes for every letter.
 * Measured in docs/decisions/memory-store.md.
 */
const perJsonByte = 2

/** Bytes of memory for each object and list, in addition to its content: `{}` is only two bytes of JSON. */
const perObject = 64

/**
 * Estimates how many bytes of memory a document takes: a whole number above 0.
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

/** The counts of frozen contexts and states, so that one which many turns leave unchanged is counted once. */
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
