/**
 * How a document is split into a head and lists and put together again, and what is stored of both. The head is what a save
 * replaces. A list is stored in chunks, each with the entries that one save appended; one that was rewritten begins anew.
 * codec.ts turns them into texts; read-session.ts and write-plan.ts decide what is read and written.
 */

import type { SessionDocument } from '../../../session/session-document.js'
import { isPlainObject, setOwn } from '../../../util/json.js'

/** The layout of heads and chunks that this release writes and reads. */
export const storedLayoutVersion = 1

/** What the head says about one list. */
export interface ListHead {
  /** `history`, or `memory:<namespace>`. */
  readonly name: string
  readonly chunks: number
  readonly entries: number
  /** The revision of the save that wrote to the list last: it identifies the list's contents. Empty for an empty list. */
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

/** The lists of a document, by name. A document may be malformed: what is not a list stays in the head. */
export function listsOf(document: SessionDocument): Map<string, readonly unknown[]> {
  const lists = new Map<string, readonly unknown[]>()
  const { history, flow } = document as { history?: unknown; flow?: unknown }
  if (Array.isArray(history)) lists.set('history', history)
  const memory = memoryOf(flow)
  for (const namespace in memory) {
    const entry = memory[namespace]
    if (isPlainObject(entry) && Array.isArray(entry.messages)) lists.set(`memory:${namespace}`, entry.messages)
  }
  return lists
}

/** A document without its lists: `null` keeps the place of each. */
export function withoutLists(document: SessionDocument): unknown {
  const rest: { history?: unknown; flow?: unknown } = { ...document }
  if (Array.isArray(rest.history)) rest.history = null
  const memory = memoryOf(rest.flow)
  if (memory === undefined) return rest
  const memoryWithoutLists = {}
  for (const namespace in memory) setOwn(memoryWithoutLists, namespace, withoutMessages(memory[namespace]))
  rest.flow = { ...(rest.flow as object), memory: memoryWithoutLists }
  return rest
}

/**
 * Puts lists back into the document that they were split from. Changes the document.
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

/** The head that a text held, or what is wrong with it. */
export function checkHead(value: unknown): SessionHead | string {
  if (!isPlainObject(value)) return 'its head is not an object'
  if (value.layout !== storedLayoutVersion) {
    return `its stored layout is ${JSON.stringify(value.layout)}, and this release reads layout ${storedLayoutVersion}`
  }
  const { lists } = value
  return Array.isArray(lists) && lists.every(isListHead)
    ? (value as unknown as SessionHead)
    : 'its head does not list its lists'
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
