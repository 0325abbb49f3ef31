/** Reads the body that a transport of the AI SDK sends: the last message, and the IDs of the chat. */
import type { JsonObject } from '../../src/index.js'
import { isBase64, isMediaType, isSessionId } from '../../src/util/patterns.js'
import type { ChatMessage } from '../chat/chat-turns.js'
import { isClientId } from '../chat/client-id.js'
import { Refusal } from '../fetch/reply/refusal.js'
import type { AttachmentCheck } from '../fetch/request/attachments.js'
import { isObject } from '../fetch/request/is-object.js'
import type { FlowMessagePart } from './ui-message.js'

/** The request of a page. */
export interface SentMessage extends ChatMessage {
  readonly chatId: string
  /** The parts as the page sent them, for its other tabs. */
  readonly parts: FlowMessagePart[]
}

type Attachment = ChatMessage['attachments'][number]

/** @throws Refusal that names what is wrong with the body. */
export function readSentMessage(
  body: Readonly<Record<string, unknown>>,
  checkAttachments: AttachmentCheck,
): SentMessage {
  const { id: chatId, messages, config } = body
  if (!isClientId(chatId)) throw new Refusal("The field 'id' must be the ID of the chat: 1 to 256 characters.")
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (!isObject(last) || last.role !== 'user') {
    throw new Refusal("The field 'messages' must be a list whose last message is one of the user.")
  }
  if (!isClientId(last.id)) throw new Refusal('The last message must have an ID: 1 to 256 characters.')
  if (config !== undefined && !isObject(config)) throw new Refusal("The field 'config' must be an object.")
  const parts = Array.isArray(last.parts) ? last.parts.flatMap(readPart) : []
  if (parts.length === 0) throw new Refusal('The last message has no text and no file.')
  return {
    chatId,
    parts,
    id: last.id,
    text: parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    attachments: checkAttachments(parts.flatMap((part) => (part.type === 'file' ? [attachmentOf(part)] : []))),
    config: config as JsonObject | undefined,
    session: sessionIn(messages as readonly unknown[]),
  }
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
