/**
 * The two kinds of stored text of a session: the head, which each save replaces, and the chunks of its lists, which
 * never change. Checks their decoded content. parts.ts splits a document into them.
 */
import { isPlainObject } from '../../../util/json.js'

/** The version of the layout that this release writes. */
export const storedLayoutVersion = 2

/** The versions of the layout that this release reads. */
const readableStoredLayouts: readonly number[] = [storedLayoutVersion]

/** The name of the head among the texts of a session. No chunk has this name. */
export const headName = 'head'

/** The head's entry for one list. The list has the chunks from `first` up to, but not including, `chunks`. */
export interface ListHead {
  /** `history`, `memory:<namespace>`, `attachments`, `receipts` or `effects`. */
  readonly name: string
  /** The number of its first chunk. Earlier chunks were removed; their numbers are not used again. */
  readonly first: number
  /** How many entries at the start of its first chunk no longer belong to the list. */
  readonly skip: number
  /** The number of the next chunk to be appended. */
  readonly chunks: number
  readonly entries: number
  /**
   * The revision of the last save that appended to the list: it identifies the list's contents. Empty if there was
   * none.
   */
  readonly tip: string
}

/** The content of a head. */
export interface SessionHead {
  readonly layout: number
  /** The document without its lists. */
  readonly document: unknown
  readonly lists: readonly ListHead[]
}

/** The content of a chunk. */
export interface ListChunk {
  /** The list's tip before the save that appended the chunk; empty for the first chunk. */
  readonly previous: string
  /** The revision of that save. */
  readonly revision: string
  readonly entries: readonly unknown[]
}

/** The name under which a driver stores a chunk. Characters that UTF-8 cannot carry are escaped, as in JSON. */
export function chunkName(list: string, index: number): string {
  return `${JSON.stringify(list).slice(1, -1)}#${index}`
}

/** Checks the decoded content of a head. Returns the head, or the problem as a clause. */
export function checkHead(value: unknown): SessionHead | string {
  if (!isPlainObject(value)) return 'its head is not an object'
  const { layout, lists } = value
  if (!readableStoredLayouts.includes(layout as number)) {
    return `its stored layout is ${JSON.stringify(layout)}, and this release reads ${readableStoredLayouts.join(' and ')}`
  }
  return Array.isArray(lists) && lists.every(isListHead)
    ? { layout: layout as number, document: value.document, lists }
    : 'its head has no valid list table'
}

/** Whether a later release wrote the head. */
export function hasNewerLayout(value: unknown): boolean {
  return isPlainObject(value) && isCount(value.layout) && value.layout > storedLayoutVersion
}

/** The owner in what may be a head. Also works for a later layout that keeps the owner in the same field. */
export function ownerIn(value: unknown): string | undefined {
  const document = isPlainObject(value) ? value.document : undefined
  const owner = isPlainObject(document) ? document.owner : undefined
  return typeof owner === 'string' ? owner : undefined
}

/** Whether the decoded content of a chunk is valid. */
export function isChunk(value: unknown): value is ListChunk {
  return (
    isPlainObject(value) &&
    typeof value.previous === 'string' &&
    typeof value.revision === 'string' &&
    Array.isArray(value.entries)
  )
}

function isListHead(value: unknown): value is ListHead {
  return (
    isPlainObject(value) &&
    typeof value.name === 'string' &&
    isCount(value.first) &&
    isCount(value.skip) &&
    isCount(value.chunks) &&
    isCount(value.entries) &&
    typeof value.tip === 'string'
  )
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
