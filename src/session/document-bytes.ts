/** The size of a document's lists as JSON. The engine keeps it up to date from turn to turn in `bytes`. */
import { jsonSize } from '../util/json.js'
import { listFields } from './document-lists.js'
import { listBytes } from './lists/shared-lists.js'
import type { SessionDocument, SessionEffects } from './session-document.js'

export function bytesOfLists(document: SessionDocument): number {
  const { flow, effects } = document
  let bytes = effects === undefined ? 0 : jsonSize(effects)
  for (const field of listFields) bytes += listBytes(document[field] ?? [])
  for (const { messages } of Object.values(flow.memory)) bytes += listBytes(messages)
  return bytes
}

/** How many bytes the effects have grown. */
export function addedBytesOfEffects(before: SessionEffects | undefined, after: SessionEffects): number {
  return jsonSize(after) - (before === undefined ? 0 : jsonSize(before))
}
