/**
 * Documents of layout 1, which releases before 0.1.0 stored: what they lack, and how they become
 * documents of this layout.
 */
import { isPlainObject } from '../util/json.js'
import { moveBytes } from './attachments.js'
import { bytesOfLists } from './document-bytes.js'
import { type SessionDocument, sessionLayoutVersion } from './session-document.js'

/** A document of layout 1, which may be malformed, with the number of its turns and the content type of its step. */
export function withCounts(stored: Record<string, unknown>): unknown {
  const { flow } = stored
  const history: readonly unknown[] = Array.isArray(stored.history) ? stored.history : []
  const last = history.at(-1)
  const { contentType, encoding } = isPlainObject(last) ? last : {}
  const isOfStep = isPlainObject(flow) && typeof contentType === 'string' && encoding === undefined
  return { ...stored, turns: history.length, flow: isOfStep ? { ...flow, contentType } : flow }
}

/**
 * A document in the layout of this release: bytes that stand in the messages of an older one move to `attachments`, and
 * `bytes` is counted anew, because older releases did not count what `onRestore` changed. A document without such bytes
 * keeps its lists, and one of this layout is returned as it is.
 */
export function toCurrentLayout(document: SessionDocument): SessionDocument {
  if (document.version >= sessionLayoutVersion) return document
  const current = moveBytes({ ...document, version: sessionLayoutVersion })
  return { ...current, bytes: bytesOfLists(current) }
}
