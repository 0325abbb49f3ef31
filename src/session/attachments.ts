/**
 * Images and files in the messages of a session. A message that came with bytes is stored with a reference to them, so
 * that the bytes can be removed without a change to the message. What a model gets is made here from both.
 */
import type { AttachmentReference, FilePart, ImagePart, Message, MessagePart, StoredMessage } from '../model/message.js'
import { bytesOfLists } from './document-bytes.js'
import { shareList } from './lists/shared-lists.js'
import type { SessionAttachment, SessionDocument, SessionMemory } from './session-document.js'

type StoredPart = StoredMessage['parts'][number]

/** Finds the bytes of an attachment, in base64; `undefined` where they were removed. */
export type FindAttachment = (id: string) => string | undefined

/** Whether a part refers to bytes in `attachments` of the document. */
export function isReference(part: StoredPart): part is AttachmentReference {
  return 'attachment' in part
}

/** A reference to the bytes of an image or a file. */
export function referenceTo(part: ImagePart | FilePart, attachment: string): AttachmentReference {
  const { type, mediaType } = part
  const name = part.type === 'file' ? part.name : undefined
  return Object.freeze({ type, mediaType, ...(name === undefined ? {} : { name }), attachment })
}

/** Finds attachments in a list of them. */
export function findIn(attachments: readonly SessionAttachment[]): FindAttachment {
  const byId = new Map(attachments.map(({ id, data }) => [id, data]))
  return (id) => byId.get(id)
}

/** Messages as a model gets them. Those without a reference are the stored ones. */
export function withAttachments(messages: readonly StoredMessage[], find: FindAttachment): readonly Message[] {
  return messages.map((message) => {
    if (!message.parts.some(isReference)) return message as Message
    const parts = message.parts.map((part) => (isReference(part) ? resolved(part, find) : part))
    return Object.freeze({ ...message, parts: Object.freeze(parts) })
  })
}

function resolved(reference: AttachmentReference, find: FindAttachment): MessagePart {
  const { attachment, ...media } = reference
  const data = find(attachment)
  if (data === undefined) return Object.freeze({ type: 'text', text: describeRemoved(reference) })
  return Object.freeze({ ...media, data } as MessagePart)
}

/** What a model reads in place of an image or a file whose bytes were removed. */
export function describeRemoved({ type, mediaType, name }: AttachmentReference): string {
  const kind = type === 'image' ? 'an image' : 'a file'
  const named = name === undefined ? kind : `${kind} '${name}'`
  return `[The user sent ${named} of type ${mediaType} here. It is no longer available.]`
}

/**
 * Moves bytes that stand in messages to `attachments`, and counts `bytes` anew. A document without such
 * bytes is returned as it is.
 */
export function moveBytes(document: SessionDocument): SessionDocument {
  const { attachments = [], flow } = document
  if (!hasPart(document, hasBytes)) return withList(document)
  const used = usedIds(document)
  const moved: SessionAttachment[] = []
  const memories = Object.entries(flow.memory).map(([namespace, stored]): [string, SessionMemory] => {
    if (!isAnyPart(stored, hasBytes)) return [namespace, stored]
    return [namespace, { messages: shareList(stored.messages.map((one) => withReferences(one, used, moved))) }]
  })
  const all = [...attachments, ...moved].sort((one, other) => one.turn - other.turn)
  const current = { ...document, attachments: shareList(all), flow: { ...flow, memory: Object.fromEntries(memories) } }
  return { ...current, bytes: bytesOfLists(current) }
}

/** The IDs of all attachments, those whose bytes were removed included: a message may still refer to them. */
function usedIds({ attachments = [], flow }: SessionDocument): Set<string> {
  const used = referencedIds(Object.values(flow.memory).map(({ messages }) => messages))
  for (const { id } of attachments) used.add(id)
  return used
}

/** The IDs of the attachments that messages of these lists refer to. */
export function referencedIds(lists: readonly (readonly StoredMessage[])[]): Set<string> {
  const ids = new Set<string>()
  for (const list of lists) {
    for (const { parts } of list) for (const part of parts) if (isReference(part)) ids.add(part.attachment)
  }
  return ids
}

/** A document whose messages refer to attachments has a list of them, even where a flow took it away. */
function withList(document: SessionDocument): SessionDocument {
  if (document.attachments !== undefined || !hasPart(document, isReference)) return document
  return { ...document, attachments: shareList<SessionAttachment>([]) }
}

/** Whether any message of a document has a part of this kind. */
function hasPart({ flow }: SessionDocument, isKind: (part: StoredPart) => boolean): boolean {
  return Object.values(flow.memory).some((memory) => isAnyPart(memory, isKind))
}

function isAnyPart({ messages }: SessionMemory, isKind: (part: StoredPart) => boolean): boolean {
  return messages.some(({ parts }) => parts.some(isKind))
}

function hasBytes(part: StoredPart): part is (ImagePart | FilePart) & { readonly data: string } {
  return (part.type === 'image' || part.type === 'file') && 'data' in part && part.data !== undefined
}

/**
 * A message with references in place of its bytes, which are added to `moved`: once, where several memories have them.
 */
function withReferences(message: StoredMessage, used: Set<string>, moved: SessionAttachment[]): StoredMessage {
  const { turn } = message
  if (!message.parts.some(hasBytes)) return message
  const parts = message.parts.map((part) => {
    if (!hasBytes(part)) return part
    let same = moved.find((one) => one.turn === turn && one.data === part.data)
    if (same === undefined) {
      same = newAttachment(turn, part.data, (id) => used.has(id))
      used.add(same.id)
      moved.push(same)
    }
    return referenceTo(part, same.id)
  })
  return Object.freeze({ ...message, parts: Object.freeze(parts) })
}

/**
 * The bytes of a turn's next image or file, under an ID of its own.
 *
 * @param isUsed - Whether the session has an attachment with this ID, or had one to which a message still refers.
 */
export function newAttachment(turn: number, data: string, isUsed: (id: string) => boolean): SessionAttachment {
  let index = 0
  while (isUsed(attachmentId(turn, index))) index++
  return Object.freeze({ id: attachmentId(turn, index), turn, data })
}

/** The ID of an attachment. `index` is different for each one of a turn. */
export function attachmentId(turn: number, index: number): string {
  return `${turn}-${index}`
}
