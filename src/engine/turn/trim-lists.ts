/**
 * Keeps the lists of a session within their limits: removes the oldest turns of the history, the oldest messages of a memory,
 * and the bytes of older attachments. Most turns remove nothing, because a list that is too long is cut to three quarters of its
 * limit; so the beginning of a model's prompt, which providers cache, seldom changes. What the turn itself added always stays.
 */

import type { ConversationMemory } from '../../flow/conversation-memory.js'
import type { StoredMessage } from '../../model/message.js'
import type { GrowingList } from '../../session/lists/growing-list.js'
import { entryBytes } from '../../session/lists/shared-lists.js'
import type { SessionAttachment, SessionHistoryEntry } from '../../session/session-document.js'
import type { EngineLimits } from '../engine-limits.js'

/** Where a list that is too long is cut, as a part of its limit. */
const partKept = 0.75

/** The lists of a session, with what the turn added. */
export interface TurnLists {
  /** The number of the turn. */
  readonly turn: number
  readonly history: GrowingList<SessionHistoryEntry>
  readonly memory: ConversationMemory
}

/** What was removed from the lists, in their order. */
export class RemovedEntries {
  history: readonly SessionHistoryEntry[] = []
  attachments: readonly SessionAttachment[] = []
  /** By namespace; `undefined` where no message was removed. */
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
export function trimLists({ turn, history, memory }: TurnLists, limits: EngineLimits, removed: RemovedEntries): void {
  const { maxHistoryTurns, maxHistoryBytes, maxMemoryBytes, attachmentTurns } = limits
  let mostTurns = Number.POSITIVE_INFINITY
  let mostBytes = Number.POSITIVE_INFINITY
  if (history.length > maxHistoryTurns) mostTurns = Math.max(1, Math.floor(maxHistoryTurns * partKept))
  if (history.bytes > maxHistoryBytes) mostBytes = maxHistoryBytes * partKept
  trimHistory(history, mostTurns, mostBytes, removed)
  for (const [namespace, { messages }] of memory.touched) {
    if (messages.bytes > maxMemoryBytes) trimMemory(namespace, messages, turn, maxMemoryBytes * partKept, removed)
  }
  trimAttachments(memory.attachments, turn - attachmentTurns, removed)
}

/**
 * Cuts the lists until they take at most so many bytes together: the history, then the memories, each to half of what it has,
 * then the attachments of earlier turns; and all of that again.
 *
 * @returns Whether they take no more than that. What the turn itself added is never removed.
 */
export function trimToBytes(
  { turn, history, memory }: TurnLists,
  bytesNow: () => number,
  mostBytes: number,
  removed: RemovedEntries,
): boolean {
  while (bytesNow() > mostBytes) {
    const before = bytesNow()
    trimHistory(history, Number.POSITIVE_INFINITY, history.bytes / 2, removed)
    if (bytesNow() <= mostBytes) return true
    for (const namespace of memory.namespaces) {
      const { messages } = memory.open(namespace)
      trimMemory(namespace, messages, turn, messages.bytes / 2, removed)
    }
    if (bytesNow() > mostBytes) trimAttachments(memory.attachments, turn - 1, removed)
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
  // The last entry is that of this turn.
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
  // A summary has replaced the messages before it, and stays.
  const first = list[0]?.summary === true ? 1 : 0
  const count = countToRemove(list, first, messages.bytes - mostBytes, turn)
  if (count > 0) removed.addMessages(namespace, messages.removeOldest(count, first))
}

/**
 * How many messages from index `first` on have to go so that at least `excess` bytes do. The rest begins with the first message
 * of a turn where there is such a place, else with any message that does not part a tool call from its result. Messages of
 * this turn stay.
 */
function countToRemove(list: readonly StoredMessage[], first: number, excess: number, turn: number): number {
  let bytes = 0
  /** Calls whose results have not come yet. */
  const openCalls = new Set<string>()
  let possible = 0
  for (let index = first; index < list.length; index++) {
    const message = list[index] as StoredMessage
    const isEnough = bytes >= excess
    const place = placeOf(list, index, openCalls)
    if (place === 'turn') {
      possible = index - first
      if (isEnough) return possible
    } else if (place === 'message' && isEnough && possible === 0) possible = index - first
    if (message.turn === turn) break
    bytes += entryBytes(message)
    followCalls(message, openCalls)
  }
  return possible
}

/** Where a list may be cut before a message: at the beginning of a turn, at any other message, or not at all. */
function placeOf(
  list: readonly StoredMessage[],
  index: number,
  openCalls: ReadonlySet<string>,
): 'turn' | 'message' | undefined {
  const { role, turn } = list[index] as StoredMessage
  if (openCalls.size > 0 || role === 'tool') return undefined
  return role === 'user' && turn !== list[index - 1]?.turn ? 'turn' : 'message'
}

/** Adds the calls of a message to `open`, and removes those whose results it has. */
function followCalls({ parts }: StoredMessage, open: Set<string>): void {
  for (const part of parts) {
    if (part.type === 'tool-call') open.add(part.toolCallId)
    else if (part.type === 'tool-result') open.delete(part.toolCallId)
  }
}

function trimAttachments(
  attachments: GrowingList<SessionAttachment> | undefined,
  lastTurn: number,
  removed: RemovedEntries,
): void {
  if (attachments === undefined) return
  const { list } = attachments
  const count = list.findIndex(({ turn }) => turn > lastTurn)
  const isAll = count < 0
  const removable = isAll ? list.length : count
  if (removable > 0) removed.attachments = [...removed.attachments, ...attachments.removeOldest(removable)]
}
