/**
 * Where a list of messages may be cut in two: at what the user said, and never between a tool call and its result, which
 * a provider would refuse. When it is cut, and what becomes of the first part, is decided elsewhere.
 */
import type { Message } from '../model/message.js'

/**
 * How many messages from the start may go, so that at least `keep` stay: as many as can be, up to the beginning of a
 * turn, or else to another message of the user. 0 where there is no such place.
 */
export function cutOf(messages: readonly Message[], keep: number): number {
  /** Results in what stays, whose calls were not come across yet: reading backwards. */
  const open = new Set<string>()
  let inTurn = 0
  for (let index = messages.length - 1; index > 0; index--) {
    const { role, parts, turn } = messages[index] as Message
    for (const part of parts) if (part.type === 'tool-result') open.add(part.toolCallId)
    for (const part of parts) if (part.type === 'tool-call') open.delete(part.toolCallId)
    if (role !== 'user' || open.size > 0 || index > messages.length - keep) continue
    if (turn !== messages[index - 1]?.turn) return index
    // In the middle of a turn the user's part is what the engine asked for: it stands for itself less well.
    if (inTurn === 0) inTurn = index
  }
  return inTurn
}
