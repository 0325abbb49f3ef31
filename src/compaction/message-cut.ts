/**
 * Finds where a list of messages can be cut in two: before a message of the user, and never between a tool call and its
 * result, because providers reject a result without its call. When a memory is cut is decided in `policy-compactor.ts`.
 */
import { summaryLength } from '../flow/conversation-memory.js'
import type { StoredMessage } from '../model/message.js'

/**
 * How many messages can be removed from the start if at least `keep` must stay. As many as possible, so that the rest
 * begins with the first message of a turn; if there is no such place, with another message of the user. 0
 * if there is none either.
 */
export function removableCount(messages: readonly StoredMessage[], keep: number): number {
  /** The list is read backwards: results that were seen, and whose calls were not. */
  const unmatched = new Set<string>()
  let insideTurn = 0
  for (let index = messages.length - 1; index > 0; index--) {
    const { role, parts, turn } = messages[index] as StoredMessage
    matchBackwards(parts, unmatched)
    if (role !== 'user' || unmatched.size > 0 || index > messages.length - keep) continue
    const isBeginningOfTurn = turn !== messages[index - 1]?.turn
    if (isBeginningOfTurn) return index
    // Inside a turn, a message of the user is the engine's request to correct an answer: less
    // useful without that answer.
    if (insideTurn === 0) insideTurn = index
  }
  return insideTurn
}

/**
 * How many messages a summary replaces; 0 where it would not make the memory shorter, because it would be the
 * summary of a summary alone.
 */
export function summarizableCount(messages: readonly StoredMessage[], keep: number): number {
  const count = removableCount(messages, keep)
  return count > summaryLength(messages) ? count : 0
}

/** Adds the results in `parts` to `unmatched`, and removes those whose calls are in `parts`. */
function matchBackwards(parts: StoredMessage['parts'], unmatched: Set<string>): void {
  for (const part of parts) if (part.type === 'tool-result') unmatched.add(part.toolCallId)
  for (const part of parts) if (part.type === 'tool-call') unmatched.delete(part.toolCallId)
}
