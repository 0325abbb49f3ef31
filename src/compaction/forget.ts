/** The beginning of a memory, taken away. When, and how much of it, is decided next door. */
import type { ConversationMemory } from '../flow/conversation-memory.js'
import type { Message } from '../model/message.js'
import { GrowingList } from '../session/lists/growing-list.js'
import { shareList } from '../session/lists/shared-lists.js'
import { jsonSize } from '../util/json.js'

/** What these messages add to the `bytes` of a document. */
export function sizeOfEntries(messages: readonly Message[]): number {
  return messages.reduce((sum, entry) => sum + jsonSize(entry) + 1, 0)
}

/** Forgets the first `count` messages of a namespace that the turn touched. */
export function forget(memory: ConversationMemory, namespace: string, count: number): void {
  const open = memory.touched.get(namespace)
  if (open === undefined) return
  const { list } = open.messages
  open.messages = new GrowingList(shareList(list.slice(count)))
  open.added = undefined
  memory.addedBytes -= sizeOfEntries(list.slice(0, count))
}
