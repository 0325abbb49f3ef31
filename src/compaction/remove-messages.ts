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

/** Removes the first `count` messages of a namespace that the turn used. */
export function removeOldest(memory: ConversationMemory, namespace: string, count: number): void {
  const open = memory.touched.get(namespace)
  if (open === undefined) return
  const { list } = open.messages
  open.messages = new GrowingList(shareList(list.slice(count)))
  open.added = undefined
  memory.addedBytes -= sizeOfMessages(list.slice(0, count))
}
