/**
 * Images and files in a session's messages. A message is stored with references to the bytes, which are kept in
 * `attachments`: so the bytes can be removed and the message stays as it is. This module joins the two again for a
 * model.
 */
import type { AttachmentReference, FilePart, ImagePart, Message, MessagePart, StoredMessage } from '../model/message.js'
import { bytesOfLists } from './document-bytes.js'
import { shareList } from './lists/shared-lists.js'
import type { SessionAttachment, SessionDocument, SessionMemory } from './session-document.js'

type StoredPart = StoredMessage['parts'][number]

/** Finds the bytes of an attachment, in base64; `undefined` if they were removed. */
export type FindAttachment = (id: string) => string | undefined

/** Whether a part refers to bytes in the document's `attachments`. */
export function isReference(part: StoredPart): part is AttachmentReference {
  return 'attachment' in part
}

export function referenceTo(part: ImagePart | FilePart, attachment: string): AttachmentReference {
  const { type, mediaType } = part
  const name = part.type === 'file' ? part.name : undefined
  return Object.freeze({ type, mediaType, ...(name === undefined ? {} : { name }), attachment })
}

export function findIn(attachments: readonly SessionAttachment[]): FindAttachment {
  const byId = new Map(attachments.map(({ id, data }) => [id, data]))
  return (id) => byId.get(id)
}

/** Messages as a model receives them, with the bytes in place of the references. Other messages are not copied. */
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

/** The text that a model reads in place of an image or a file whose bytes were removed. */
export function describeRemoved({ type, mediaType, name }: AttachmentReference): string {
  const kind = type === 'image' ? 'an image' : 'a file'
  const named = name === undefined ? kind : `${kind} '${name}'`
  return `[The user sent ${named} of type ${mediaType} here. It is no longer available.]`
}

/**
 * Moves bytes that are still inside messages to `attachments`, and counts `bytes` again. Returns a document without
 * such bytes as it is.
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

/** The IDs of all attachments, also of removed ones to which a message still refers. */
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

/** Restores an empty `attachments` list that a flow removed although messages still refer to attachments. */
function withList(document: SessionDocument): SessionDocument {
  if (document.attachments !== undefined || !hasPart(document, isReference)) return document
  return { ...document, attachments: shareList<SessionAttachment>([]) }
}

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
 * A copy of the message with references in place of its bytes. Adds the bytes to `moved`, once even if several memories
 * contain them.
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
 * The bytes of a turn's next image or file, with a new ID.
 *
 * @param isUsed - Whether an attachment has this ID, or a message still refers to a removed one with this ID.
 */
export function newAttachment(turn: number, data: string, isUsed: (id: string) => boolean): SessionAttachment {
  let index = 0
  while (isUsed(attachmentId(turn, index))) index++
  return Object.freeze({ id: attachmentId(turn, index), turn, data })
}

/** @param index - Different for each attachment of a turn. */
export function attachmentId(turn: number, index: number): string {
  return `${turn}-${index}`
}

/** How many bytes a padded base64 text stands for. */
export function sizeOfBase64(data: string): number {
  return (data.length / 4) * 3 - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0)
}
