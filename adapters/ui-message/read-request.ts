/** Reads the body that a transport of the AI SDK sends: the last message, and the IDs of the chat. */
import type { JsonObject } from '../../src/index.js'
import { isBase64, isMediaType, isSessionId } from '../../src/util/patterns.js'
import type { ChatMessage } from '../chat/chat-turns.js'
import { isClientId } from '../chat/client-id.js'
import { readTurnFields } from '../chat/turn-fields.js'
import { Refusal } from '../fetch/reply/refusal.js'
import type { AttachmentCheck } from '../fetch/request/attachments.js'
import { isObject } from '../fetch/request/is-object.js'
import type { FlowMessagePart } from './ui-message.js'

/** The request of a page. */
export interface SentMessage extends ChatMessage {
  readonly chatId: string
  /** The parts as the page sent them, for its other tabs; none for an event. */
  readonly parts: FlowMessagePart[]
}

/** `regenerate()` on a reply that no message of the user caused. */
export const askedByNobody = 'You asked for no answer here, so there is none to give again.'

type Attachment = ChatMessage['attachments'][number]

/** @throws Refusal that names what is wrong with the body. */
export function readSentMessage(
  body: Readonly<Record<string, unknown>>,
  checkAttachments: AttachmentCheck,
): SentMessage {
  const { id: chatId, messages, config, trigger } = body
  if (!isClientId(chatId)) throw new Refusal("The field 'id' must be the ID of the chat: 1 to 256 characters.")
  if (config !== undefined && !isObject(config)) throw new Refusal("The field 'config' must be an object.")
  const all: readonly unknown[] = Array.isArray(messages) ? messages : []
  const shared = {
    ...readTurnFields(body),
    ...{ chatId, config: config as JsonObject | undefined, session: sessionIn(all) },
  }
  if (shared.event !== undefined) return { ...shared, id: idOfEvent(body.event), text: '', attachments: [], parts: [] }
  const last = all.at(-1)
  if (isObject(last) && last.role === 'user') return { ...shared, ...readLast(last, checkAttachments) }
  if (isObject(last) && trigger === 'regenerate-message') throw new Refusal(askedByNobody, 409)
  throw new Refusal("The field 'messages' must be a list whose last message is one of the user.")
}

function readLast(
  { id, parts: sent }: Readonly<Record<string, unknown>>,
  checkAttachments: AttachmentCheck,
): Pick<SentMessage, 'id' | 'parts' | 'text' | 'attachments'> {
  if (!isClientId(id)) throw new Refusal('The last message must have an ID: 1 to 256 characters.')
  const parts = Array.isArray(sent) ? sent.flatMap(readPart) : []
  if (parts.length === 0) throw new Refusal('The last message has no text and no file.')
  return {
    ...{ id, parts },
    text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    attachments: checkAttachments(parts.flatMap((part) => (part.type === 'file' ? [attachmentOf(part)] : []))),
  }
}

/** The ID that the page gave an event, so that it can send it again; otherwise a new one. */
function idOfEvent(event: unknown): string {
  const { id = crypto.randomUUID() } = event as { readonly id?: unknown }
  if (isClientId(id)) return id
  throw new Refusal('The ID of the event must have 1 to 256 characters.')
}

/** A flow ignores parts of other kinds. */
function readPart(part: unknown): FlowMessagePart[] {
  if (!isObject(part)) return []
  const { type, text, mediaType, url, filename } = part
  if (type === 'text' && typeof text === 'string') return [{ type, text }]
  if (type !== 'file') return []
  if (typeof mediaType !== 'string' || !isMediaType(mediaType) || typeof url !== 'string') {
    throw new Refusal('A file must have a mediaType and a url.')
  }
  return [{ type, mediaType, url, ...(typeof filename === 'string' && filename !== '' ? { filename } : {}) }]
}

/** @throws Refusal for a data URL that is not in base64. */
function attachmentOf({ mediaType, url, filename }: FlowMessagePart & { type: 'file' }): Attachment {
  const isImage = mediaType.startsWith('image/')
  const source = sourceOf(url)
  if (isImage) return { type: 'image', mediaType, ...source }
  return { type: 'file', mediaType, ...source, ...(filename === undefined ? {} : { name: filename }) }
}

function sourceOf(url: string): { readonly data: string } | { readonly url: string } {
  if (!/^data:/i.test(url)) return { url }
  const comma = url.indexOf(',')
  const data = url.slice(comma + 1)
  if (!/;base64$/i.test(url.slice(0, comma)) || !isBase64(data)) {
    throw new Refusal('The url of a file must be an address, or a data URL in base64.')
  }
  return { data }
}

/** The session in the newest reply. */
function sessionIn(messages: readonly unknown[]): string | undefined {
  for (const message of [...messages].reverse()) {
    if (!isObject(message) || message.role !== 'assistant' || !isObject(message.metadata)) continue
    const { session } = message.metadata
    if (typeof session === 'string' && isSessionId(session)) return session
  }
  return undefined
}
