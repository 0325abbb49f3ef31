/**
 * Reads the body that an AG-UI client sends (`RunAgentInput`): the user's last message, and the state of the thread.
 */
import { isBase64, isMediaType, isSessionId } from '../../src/util/patterns.js'
import type { ChatMessage } from '../chat/chat-turns.js'
import { isClientId } from '../chat/client-id.js'
import { isStoredId } from '../chat/stored-turns.js'
import { readTurnFields } from '../chat/turn-fields.js'
import { Refusal } from '../fetch/reply/refusal.js'
import type { AttachmentCheck } from '../fetch/request/attachments.js'
import { isObject } from '../fetch/request/is-object.js'

/** The request of a client. */
export interface SentRun {
  readonly threadId: string
  readonly runId: string
  /** The session that the client names; `undefined` if it names none. */
  readonly session: string | undefined
  /** `undefined` if the client asks only for the messages of the thread. */
  readonly message: SentMessage | undefined
}

/** The user's last message, or an event. */
export interface SentMessage extends ChatMessage {
  /** The client's messages up to the user's last one; for an event, all. */
  readonly messages: readonly unknown[]
  /** Whether the client has messages after it: a partial reply from before a connection broke or the turn failed. */
  readonly isSentAgain: boolean
}

type Attachment = ChatMessage['attachments'][number]

/** @throws Refusal unless the body has the IDs of a run. */
export function readRunIds({
  threadId,
  runId,
}: Readonly<Record<string, unknown>>): Pick<SentRun, 'threadId' | 'runId'> {
  if (isClientId(threadId) && isClientId(runId)) return { threadId, runId }
  throw new Refusal("The fields 'threadId' and 'runId' must be texts of 1 to 256 characters.")
}

/** Whether the client resumes a run that was interrupted. */
export function isResumed({ resume }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(resume) ? resume.length > 0 : (resume ?? undefined) !== undefined
}

/** @throws Refusal that names what is wrong with the body. */
export function readRunInput(body: Readonly<Record<string, unknown>>, checkAttachments: AttachmentCheck): SentRun {
  const { messages, state, forwardedProps } = body
  const ids = readRunIds(body)
  if (!Array.isArray(messages)) throw new Refusal("The field 'messages' must be a list.")
  const named = isObject(state) ? state.session : undefined
  const session = typeof named === 'string' && isSessionId(named) ? named : undefined
  const fields = { ...readTurnFields(isObject(forwardedProps) ? forwardedProps : {}), config: undefined, session }
  const { event } = fields
  const message: SentMessage | undefined =
    event === undefined
      ? readMessage(messages, checkAttachments, fields)
      : { ...fields, id: ids.runId, text: '', attachments: [], messages, isSentAgain: false }
  return { ...ids, session, message }
}

/** The user's last message; `undefined` if there is none, or if it comes from the transcript. */
function readMessage(
  all: readonly unknown[],
  checkAttachments: AttachmentCheck,
  fields: Pick<ChatMessage, 'config' | 'event' | 'choice' | 'newSession' | 'session'>,
): SentMessage | undefined {
  const index = all.findLastIndex((message) => isObject(message) && message.role === 'user')
  const last = all[index]
  if (!isObject(last)) return undefined
  if (!isClientId(last.id)) throw new Refusal('The last message of the user must have an ID: 1 to 256 characters.')
  if (isStoredId(last.id)) return undefined
  const parts = Array.isArray(last.content) ? last.content : [{ type: 'text', text: last.content }]
  const texts = parts.flatMap((part) => (isText(part) ? [part.text] : []))
  const attachments = parts.flatMap((part) => (isObject(part) && part.type !== 'text' ? [attachmentOf(part)] : []))
  if (texts.length + attachments.length === 0) throw new Refusal("The user's last message has no text and no file.")
  return {
    ...fields,
    id: last.id,
    messages: all.slice(0, index + 1),
    isSentAgain: index < all.length - 1,
    text: texts.join('\n'),
    attachments: checkAttachments(attachments),
  }
}

function isText(part: unknown): part is { readonly text: string } {
  return isObject(part) && part.type === 'text' && typeof part.text === 'string'
}

/** @throws Refusal for a source that is neither bytes in base64 nor an address. */
function attachmentOf({ source }: Readonly<Record<string, unknown>>): Attachment {
  const { type, value, mimeType } = isObject(source) ? source : {}
  const isBytes = type === 'data' && typeof value === 'string' && isBase64(value)
  const isAddress = type === 'url' && typeof value === 'string'
  if ((!isBytes && !isAddress) || typeof mimeType !== 'string' || !isMediaType(mimeType)) {
    throw new Refusal('A file must have a source with a mimeType: bytes in base64, or an address.')
  }
  const media = isBytes ? { data: value } : { url: value as string }
  return { type: mimeType.startsWith('image/') ? 'image' : 'file', mediaType: mimeType, ...media }
}
