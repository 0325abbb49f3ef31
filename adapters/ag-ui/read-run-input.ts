/**
 * Reads the body that an AG-UI client sends (`RunAgentInput`): the user's last message, and the state of the thread.
 */
import { isBase64, isMediaType, isSessionId } from '../../src/util/patterns.js'
import type { ChatMessage } from '../chat/chat-turns.js'
import { isClientId } from '../chat/client-id.js'
import { Refusal } from '../fetch/reply/refusal.js'
import type { AttachmentCheck } from '../fetch/request/attachments.js'
import { isObject } from '../fetch/request/is-object.js'

/** The request of a client. */
export interface SentRun extends ChatMessage {
  readonly threadId: string
  readonly runId: string
  /** The client's messages up to the user's last one. */
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
  const { messages, state } = body
  const { threadId, runId } = readRunIds(body)
  const all: readonly unknown[] = Array.isArray(messages) ? messages : []
  const index = all.findLastIndex((message) => isObject(message) && message.role === 'user')
  const last = all[index]
  if (!isObject(last) || !isClientId(last.id)) {
    throw new Refusal("The field 'messages' must contain a user message with an ID.")
  }
  const parts = Array.isArray(last.content) ? last.content : [{ type: 'text', text: last.content }]
  const texts = parts.flatMap((part) => (isText(part) ? [part.text] : []))
  const attachments = parts.flatMap((part) => (isObject(part) && part.type !== 'text' ? [attachmentOf(part)] : []))
  if (texts.length + attachments.length === 0) throw new Refusal("The user's last message has no text and no file.")
  const session = isObject(state) ? state.session : undefined
  return {
    ...{ threadId, runId, id: last.id, config: undefined },
    messages: all.slice(0, index + 1),
    isSentAgain: index < all.length - 1,
    text: texts.join('\n'),
    attachments: checkAttachments(attachments),
    session: typeof session === 'string' && isSessionId(session) ? session : undefined,
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
