/**
 * How a document is cut into a head and lists, and put together again; and what is stored of both. The head is what a
 * save replaces. A list is kept in chunks, each the entries that one save appended; one that was rewritten begins anew.
 * What text they become is left to the text codec, and when they are read or written to the sessions' reader and writer.
 */

import type { SessionDocument } from '../../../session/session-document.js'
import { isPlainObject } from '../../../util/json.js'

/** The layout of heads and chunks that this release writes and reads. */
export const storedLayoutVersion = 1

/** What the head says of one list. */
export interface ListHead {
  /** `history`, or `memory:<namespace>`. */
  readonly name: string
  readonly chunks: number
  readonly entries: number
  /** The revision of the save that wrote to the list last: it names the list's contents. Empty for an empty list. */
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

/** The name that a driver knows a chunk by. Characters that no UTF-8 can carry are escaped, as in JSON. */
export function chunkName(list: string, index: number): string {
  return `${JSON.stringify(list).slice(1, -1)}#${index}`
}

/** The lists of a document, by name. A document may be malformed: what is no list stays in the head. */
export function listsOf(document: SessionDocument): Map<string, readonly unknown[]> {
  const lists = new Map<string, readonly unknown[]>()
  const { history, flow } = document as { history?: unknown; flow?: unknown }
  if (Array.isArray(history)) lists.set('history', history)
  for (const [namespace, memory] of Object.entries(memoryOf(flow) ?? {})) {
    if (isPlainObject(memory) && Array.isArray(memory.messages)) lists.set(`memory:${namespace}`, memory.messages)
  }
  return lists
}

/** A document without its lists: `null` keeps the place of each. */
export function withoutLists(document: SessionDocument): unknown {
  const rest: { history?: unknown; flow?: unknown } = { ...document }
  if (Array.isArray(rest.history)) rest.history = null
  const memory = memoryOf(rest.flow)
  if (memory !== undefined) rest.flow = { ...(rest.flow as object), memory: mapValues(memory, withoutMessages) }
  return rest
}

/**
 * Puts lists back into the document they were cut from. The document is changed.
 *
 * @returns Whether every list had its place.
 */
export function putLists(
  document: unknown,
  lists: Iterable<readonly [name: string, list: readonly unknown[]]>,
): boolean {
  if (!isPlainObject(document)) return false
  for (const [name, list] of lists) {
    if (name === 'history') {
      document.history = list
      continue
    }
    const memory = memoryOf(document.flow) ?? {}
    const namespace = name.slice('memory:'.length)
    const entry = Object.hasOwn(memory, namespace) ? memory[namespace] : undefined
    if (!isPlainObject(entry)) return false
    entry.messages = list
  }
  return true
}

/** What a head's text held, where it is one; otherwise what is wrong with it. */
export function checkHead(value: unknown): SessionHead | string {
  if (!isPlainObject(value)) return 'its head is no object'
  if (value.layout !== storedLayoutVersion) {
    return `its stored layout is ${JSON.stringify(value.layout)}, and this release reads layout ${storedLayoutVersion}`
  }
  const { lists } = value
  return Array.isArray(lists) && lists.every(isListHead) ? (value as unknown as SessionHead) : 'its head lists no lists'
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

function isListHead(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    typeof value.name === 'string' &&
    isCount(value.chunks) &&
    isCount(value.entries) &&
    typeof value.tip === 'string'
  )
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function memoryOf(flow: unknown): Record<string, unknown> | undefined {
  return isPlainObject(flow) && isPlainObject(flow.memory) ? flow.memory : undefined
}

function withoutMessages(memory: unknown): unknown {
  return isPlainObject(memory) && Array.isArray(memory.messages) ? { ...memory, messages: null } : memory
}

/** Keeps a key named `__proto__`, which an assignment would lose. */
function mapValues(object: Readonly<Record<string, unknown>>, change: (value: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
}
