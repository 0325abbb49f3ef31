/** About how much memory a stored session takes, from sizes that are known: its history and messages are not read for it. */
import type { SessionDocument } from '../../session/session-document.js'
import { jsonSize } from '../../util/json.js'

/** What a session without any text takes: the objects of its document, and its place in the store. */
const emptySession = 3072

/** Bytes of memory for each byte of JSON. docs/decisions/0029-two-packages-at-run-time.md has the measurements. */
const perJsonByte = 1.3

/**
 * About how many bytes of memory a document takes: a whole number above 0.
 *
 * @param stateBytes - About how many bytes its context and states take as JSON. Default: they are measured.
 */
export function heapBytes(document: SessionDocument, stateBytes?: number): number {
  const json = document.bytes + (stateBytes ?? jsonSize(document.flow?.context) + jsonSize(document.flow?.steps))
  // A document that no engine wrote may have anything in place of `bytes`.
  return Math.ceil(emptySession + perJsonByte * Math.max(0, Number.isFinite(json) ? json : jsonSize(document)))
}
