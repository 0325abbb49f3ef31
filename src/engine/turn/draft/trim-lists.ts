/**
 * Keeps the lists of a session within their limits: removes the oldest turns of the history, the oldest messages of a
 * memory, and the bytes of older attachments. Most turns remove nothing, because a list that is too long is cut to
 * three quarters of its limit; so the beginning of a model's prompt, which providers cache, seldom changes. Entries of
 * the current turn always stay.
 */

import { type ConversationMemory, summaryLength } from '../../../flow/conversation-memory.js'
import type { StoredMessage } from '../../../model/message.js'
import type { GrowingList } from '../../../session/lists/growing-list.js'
import { entryBytes } from '../../../session/lists/shared-lists.js'
import type { SessionAttachment, SessionHistoryEntry, SessionReceipt } from '../../../session/session-document.js'
import type { EngineLimits } from '../../core/engine-limits.js'

/** The length of a list after a cut, as a fraction of its limit. */
const partKept = 0.75

/** The lists of a session, with what the turn added. */
export interface TurnLists {
  /** The number of the turn. */
  readonly turn: number
  readonly history: GrowingList<SessionHistoryEntry>
  readonly memory: ConversationMemory
  /** `undefined` if the session has none. */
  readonly receipts?: GrowingList<SessionReceipt> | undefined
}

/** How many receipts of events a session keeps. */
const maxEventReceipts = 32

const nothing: readonly never[] = Object.freeze([])

/** The removed entries, in their order. */
export class RemovedEntries {
  history: readonly SessionHistoryEntry[] = nothing
  attachments: readonly SessionAttachment[] = nothing
  /** By namespace; `undefined` if no message was removed. */
  #messages: Map<string, readonly StoredMessage[]> | undefined

  /** The messages by namespace. */
  get memory(): Readonly<Record<string, readonly StoredMessage[]>> {
    return Object.fromEntries(this.#messages ?? [])
  }

  get isEmpty(): boolean {
    return this.history.length === 0 && this.attachments.length === 0 && this.#messages === undefined
  }

  addMessages(namespace: string, messages: readonly StoredMessage[]): void {
    if (messages.length === 0) return
    this.#messages ??= new Map()
    this.#messages.set(namespace, [...(this.#messages.get(namespace) ?? []), ...messages])
  }
}

/** Cuts each list to its own limit. */
export function trimLists(
  { turn, history, memory, receipts }: TurnLists,
  limits: EngineLimits,
  removed: RemovedEntries,
): void {
  const { maxHistoryTurns, maxHistoryBytes, maxMemoryBytes, attachmentTurns, maxReceipts } = limits
  let mostTurns = Number.POSITIVE_INFINITY
  let mostBytes = Number.POSITIVE_INFINITY
  if (history.length > maxHistoryTurns) mostTurns = Math.max(1, Math.floor(maxHistoryTurns * partKept))
  if (history.bytes > maxHistoryBytes) mostBytes = maxHistoryBytes * partKept
  trimHistory(history, mostTurns, mostBytes, removed)
  for (const [namespace, { messages }] of memory.touched) {
    if (messages.bytes > maxMemoryBytes) trimMemory(namespace, messages, turn, maxMemoryBytes * partKept, removed)
  }
  trimAttachments(memory.attachments, turn - attachmentTurns, removed)
  if (receipts !== undefined) trimReceipts(receipts, maxReceipts, history.list[0]?.turn ?? 0)
}

/**
 * Cuts the lists until together they fit into the given bytes. First removes the attachments of earlier turns, then
 * cuts the history and after it the memories, each to half of its size, as often as needed.
 *
 * @returns whether they fit; entries of the current turn are never removed
 */
export function trimToBytes(
  { turn, history, memory, receipts }: TurnLists,
  bytesNow: () => number,
  mostBytes: number,
  removed: RemovedEntries,
): boolean {
  if (bytesNow() > mostBytes) trimAttachments(memory.attachments, turn - 1, removed)
  while (bytesNow() > mostBytes) {
    const before = bytesNow()
    trimHistory(history, Number.POSITIVE_INFINITY, history.bytes / 2, removed)
    if (receipts !== undefined) trimReceipts(receipts, Number.POSITIVE_INFINITY, history.list[0]?.turn ?? 0)
    if (bytesNow() <= mostBytes) return true
    for (const namespace of memory.namespaces) {
      const { messages } = memory.open(namespace)
      trimMemory(namespace, messages, turn, messages.bytes / 2, removed)
    }
    if (bytesNow() === before) return false
  }
  return true
}

function trimHistory(
  history: GrowingList<SessionHistoryEntry>,
  mostTurns: number,
  mostBytes: number,
  removed: RemovedEntries,
): void {
  if (history.length <= mostTurns && history.bytes <= mostBytes) return
  const { list } = history
  let { bytes } = history
  let count = 0
  // The last entry belongs to this turn.
  while (count < list.length - 1 && (list.length - count > mostTurns || bytes > mostBytes)) {
    bytes -= entryBytes(list[count])
    count++
  }
  if (count > 0) removed.history = [...removed.history, ...history.removeOldest(count)]
}

function trimMemory(
  namespace: string,
  messages: GrowingList<StoredMessage>,
  turn: number,
  mostBytes: number,
  removed: RemovedEntries,
): void {
  const { list } = messages
  // A summary has replaced the messages before it, so it stays.
  const first = summaryLength(list)
  const count = countToRemove(list, first, messages.bytes - mostBytes, turn)
  if (count > 0) removed.addMessages(namespace, messages.removeOldest(count, first))
}

/**
 * How many messages from index `first` on must be removed to free at least `excess` bytes. The rest begins with the
 * first message of a turn if possible, otherwise with any message that does not separate a tool call from its result.
 * Messages of this turn stay; if there are none, all others may be removed.
 */
function countToRemove(list: readonly StoredMessage[], first: number, excess: number, turn: number): number {
  let beginning = 0
  let insideTurn: number | undefined
  for (const { place, count, bytes } of placesOf(list, first, turn)) {
    if (place !== 'message') beginning = count
    if (bytes < excess) continue
    if (place === 'turn') return count
    if (place === 'message') insideTurn ??= count
  }
  return insideTurn ?? beginning
}

/** A possible cut of a list: before the first message of a turn, before another message, or at its end. */
interface CutPlace {
  readonly place: 'turn' | 'message' | 'end'
  /** The messages before it, from index `first` on, and their bytes. */
  readonly count: number
  readonly bytes: number
}

/** The possible cuts of a list, up to the beginning of this turn. */
function* placesOf(list: readonly StoredMessage[], first: number, turn: number): Generator<CutPlace> {
  let bytes = 0
  const results = resultsIn(list)
  /** Calls without a result so far. */
  const openCalls = new Set<string>()
  for (let index = first; index < list.length; index++) {
    const message = list[index] as StoredMessage
    const place = placeBefore(list, index, openCalls)
    if (place !== undefined) yield { place, count: index - first, bytes }
    if (message.turn === turn) return
    bytes += entryBytes(message)
    followCalls(message, openCalls, results)
  }
  yield { place: 'end', count: list.length - first, bytes }
}

/** Whether a list may be cut before a message: at the beginning of a turn, at any other message, or not at all. */
function placeBefore(
  list: readonly StoredMessage[],
  index: number,
  openCalls: ReadonlySet<string>,
): 'turn' | 'message' | undefined {
  const { role, turn } = list[index] as StoredMessage
  if (openCalls.size > 0 || role === 'tool') return undefined
  return role === 'user' && turn !== list[index - 1]?.turn ? 'turn' : 'message'
}

/** The IDs of all calls that have a result. A flow may have stored a call without one, in `onRestore`. */
function resultsIn(list: readonly StoredMessage[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const { parts } of list) for (const part of parts) if (part.type === 'tool-result') ids.add(part.toolCallId)
  return ids
}

/** Adds the calls of a message that have a result to `open`, and removes those whose results it has. */
function followCalls({ parts }: StoredMessage, open: Set<string>, results: ReadonlySet<string>): void {
  for (const part of parts) {
    if (part.type === 'tool-call' && results.has(part.toolCallId)) open.add(part.toolCallId)
    else if (part.type === 'tool-result') open.delete(part.toolCallId)
  }
}

/**
 * Removes the oldest receipts, and those whose turn is no longer in the history. The receipt of the turn that created
 * the session stays: its repeat must not run, even if its reply is gone. The receipts of events are counted apart, and
 * do not depend on the history.
 */
function trimReceipts(receipts: GrowingList<SessionReceipt>, most: number, firstTurn: number): void {
  const { list } = receipts
  const kept = list[0]?.turn === 1 && !list[0].event ? 1 : 0
  let events = 0
  for (const { event } of list) if (event) events++
  let spareEvents = events - maxEventReceipts
  let spare = list.length - events - kept - most
  let index = kept
  for (let place = kept; place < list.length; place++) {
    const { event, turn = firstTurn } = list[place] as SessionReceipt
    const isKept = event ? spareEvents-- <= 0 : spare-- <= 0 && turn >= firstTurn
    if (isKept) index++
    else receipts.removeOldest(1, index)
  }
}

function trimAttachments(
  attachments: GrowingList<SessionAttachment> | undefined,
  lastTurn: number,
  removed: RemovedEntries,
): void {
  if (attachments === undefined) return
  const { list } = attachments
  const firstKept = list.findIndex(({ turn }) => turn > lastTurn)
  const count = firstKept < 0 ? list.length : firstKept
  if (count > 0) removed.attachments = [...removed.attachments, ...attachments.removeOldest(count)]
}
