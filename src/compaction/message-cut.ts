/**
 * Finds where a list of messages can be cut in two: before a user message, and never between a tool call and its
 * result, because providers reject a result without its call. `policy-compactor.ts` decides when a memory is cut.
 */
import { summaryLength } from '../flow/conversation-memory.js'
import type { StoredMessage } from '../model/message.js'

/**
 * Counts how many messages can be removed from the start while at least `keep` stay. It removes as many as possible, so
 * that the rest begins with the first message of a turn, or else with any other user message. Returns 0 if neither
 * exists.
 */
export function removableCount(messages: readonly StoredMessage[], keep: number): number {
  /** Call IDs of results seen so far, reading backwards, whose calls have not been seen. */
  const unmatched = new Set<string>()
  let insideTurn = 0
  for (let index = messages.length - 1; index > 0; index--) {
    const { role, parts, turn } = messages[index] as StoredMessage
    matchBackwards(parts, unmatched)
    if (role !== 'user' || unmatched.size > 0 || index > messages.length - keep) continue
    const isBeginningOfTurn = turn !== messages[index - 1]?.turn
    if (isBeginningOfTurn) return index
    // Inside a turn, a user message is the engine's request to correct an answer, which is less useful without that
    // answer.
    if (insideTurn === 0) insideTurn = index
  }
  return insideTurn
}

/**
 * Counts the messages that a summary replaces. Returns 0 if the summary would replace only an earlier summary.
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
