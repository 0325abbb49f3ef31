/**
 * What is stored of a session: a head, which each save replaces, and the chunks of its lists, which are never changed.
 * Checks what a text held. parts.ts splits a document into them.
 */
import { isPlainObject } from '../../../util/json.js'

/** The layout of heads and chunks that this release writes. */
export const storedLayoutVersion = 2

/** The layouts of heads and chunks that this release reads. */
const readableStoredLayouts: readonly number[] = [storedLayoutVersion]

/** The name of the head among the texts of a session. No chunk has it. */
export const headName = 'head'

/** What the head says about one list. Its chunks are those from `first` up to, and without, `chunks`. */
export interface ListHead {
  /** `history`, `memory:<namespace>`, `attachments`, `receipts` or `effects`. */
  readonly name: string
  /** The number of its first chunk. Those before it were removed, and their numbers are not used again. */
  readonly first: number
  /** How many entries of its first chunk, from the start, no longer belong to it. */
  readonly skip: number
  /** The number of the chunk that will be appended next. */
  readonly chunks: number
  readonly entries: number
  /**
   * The revision of the save that appended to the list last: it identifies the list's contents. Empty where none did.
   */
  readonly tip: string
}

/** What a head's text holds. */
export interface SessionHead {
  readonly layout: number
  /** The document without its lists. */
  readonly document: unknown
  readonly lists: readonly ListHead[]
}

/** What a chunk's text holds. */
export interface ListChunk {
  /** The list's tip before the save that appended the chunk; empty before the first. */
  readonly previous: string
  /** The revision of that save. */
  readonly revision: string
  readonly entries: readonly unknown[]
}

/** The name under which a driver stores a chunk. Characters that UTF-8 cannot carry are escaped, as in JSON. */
export function chunkName(list: string, index: number): string {
  return `${JSON.stringify(list).slice(1, -1)}#${index}`
}

/** The head that a text held, as one of this release's layout, or what is wrong with it. */
export function checkHead(value: unknown): SessionHead | string {
  if (!isPlainObject(value)) return 'its head is not an object'
  const { layout, lists } = value
  if (!readableStoredLayouts.includes(layout as number)) {
    return `its stored layout is ${JSON.stringify(layout)}, and this release reads ${readableStoredLayouts.join(' and ')}`
  }
  return Array.isArray(lists) && lists.every(isListHead)
    ? { layout: layout as number, document: value.document, lists }
    : 'its head does not list its lists'
}

/** Whether a later release wrote the head that a text held. */
export function hasNewerLayout(value: unknown): boolean {
  return isPlainObject(value) && isCount(value.layout) && value.layout > storedLayoutVersion
}

/** The owner in what may be a head, also of a later layout, if the owner stands where it does in this one. */
export function ownerIn(value: unknown): string | undefined {
  const document = isPlainObject(value) ? value.document : undefined
  const owner = isPlainObject(document) ? document.owner : undefined
  return typeof owner === 'string' ? owner : undefined
}

/** Whether a chunk's text held a chunk. */
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
