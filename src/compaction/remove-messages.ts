/** Removes the oldest messages of a memory, and keeps the count of its bytes. How many is decided in `message-cut.ts`. */
import type { ConversationMemory } from '../flow/conversation-memory.js'
import type { Message } from '../model/message.js'
import { GrowingList } from '../session/lists/growing-list.js'
import { shareList } from '../session/lists/shared-lists.js'
import { jsonSize } from '../util/json.js'

/** What these messages add to the `bytes` of a document. */
export function sizeOfMessages(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + jsonSize(message) + 1, 0)
}

/** Removes the first `count` messages of a namespace, one of `memory.touched`. */
export function removeOldest(
  memory: ConversationMemory,
  namespace: { messages: GrowingList<Message>; added: number | undefined },
  count: number,
): void {
  const { list } = namespace.messages
  namespace.messages = new GrowingList(shareList(list.slice(count)))
  namespace.added = undefined
  memory.addedBytes -= sizeOfMessages(list.slice(0, count))
}
