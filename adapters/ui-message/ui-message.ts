/**
 * Types for the messages and chunks of the AI SDK that this adapter reads and writes. They need no package of the AI
 * SDK, and contain only what versions 5, 6 and 7 share.
 */
import type { ReplyPart } from '../../src/index.js'
import { type Replied, sentParts } from '../fetch/reply/sent-parts.js'

/**
 * The data parts of a reply, by name, as `UIMessage<FlowMessageMetadata, FlowMessageData>` of the AI SDK takes them:
 * the part `data-choices` has the data `FlowMessageData['choices']`. Add the names that your flow gives to `custom`.
 */
export type FlowMessageData = {
  choices: Omit<Extract<ReplyPart, { readonly type: 'choices' }>, 'type'> & { readonly turn: number }
  card: Omit<Extract<ReplyPart, { readonly type: 'card' }>, 'type'>
  form: Omit<Extract<ReplyPart, { readonly type: 'form' }>, 'type'>
}

/** A piece of a message. */
export type FlowMessagePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string; readonly filename?: string }
  | {
      [Name in keyof FlowMessageData]: {
        readonly type: `data-${Name}`
        /** Unique in its message. */
        readonly id: string
        readonly data: FlowMessageData[Name]
      }
    }[keyof FlowMessageData]

type FlowDataPart = Extract<FlowMessagePart, { readonly data: unknown }>

/** The `metadata` of a message, about its session and its turn. */
export interface FlowMessageMetadata {
  /** The ID of the session. A page sends it back with its messages. */
  readonly session: string
  /** Whether the session goes on: see `ExecuteResult.sessionState`. */
  readonly sessionState: 'running' | 'completed' | 'aborted' | 'none' | 'unknown'
  /** Why a new session was started instead of continuing the chat's: see `ExecuteResult.restarted`. */
  readonly restarted?: 'unknown' | 'completed' | 'aborted' | 'outdated' | 'flow'
  /** The reply's content type; absent for plain text. */
  readonly contentType?: string
  /** The number of the turn, for `?after=`. Only in the transcript. */
  readonly turn?: number
  /** The name of the event that caused the reply. Only in the transcript; absent if a message of the user caused it. */
  readonly event?: string
  /** Who sent that event. Absent if the sender has no name. */
  readonly by?: string
  /** Why the turn failed, such as `SESSION_ENDED`. Absent if it did not. */
  readonly code?: string
}

/** A message of the transcript: a `UIMessage` of the AI SDK. */
export interface FlowMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: FlowMessagePart[]
  readonly metadata?: FlowMessageMetadata
}

/** A chunk of the stream. */
export type FlowMessageChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'data-reset'; readonly data: { readonly reason: string } }
  | { readonly type: 'text-start' | 'text-end'; readonly id: string }
  | { readonly type: 'text-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  | FlowDataPart
  | (ToolFields & { readonly type: 'tool-input-start'; readonly toolName: string })
  | (ToolFields & { readonly type: 'tool-input-available'; readonly toolName: string; readonly input: object })
  | (ToolFields & { readonly type: 'tool-output-available'; readonly output: object })
  | (ToolFields & { readonly type: 'tool-output-error'; readonly errorText: string })
  | { readonly type: 'message-metadata' | 'finish'; readonly messageMetadata: FlowMessageMetadata }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort' }

interface ToolFields {
  readonly toolCallId: string
  /** The server runs the tool, so pages must not. */
  readonly providerExecuted: true
}

/** A reply of any text type is text; bytes are a file. */
export function replyPart(
  text: string,
  contentType: string,
  encoding: 'base64' | undefined,
): Exclude<FlowMessagePart, FlowDataPart> {
  if (encoding === undefined) return { type: 'text', text }
  return { type: 'file', mediaType: contentType, url: `data:${contentType};base64,${text}` }
}

/** The parts beside the text, the same in the stream and in the transcript. A file of the AI SDK has no name. */
export function partsBeside(reply: Replied): Exclude<FlowMessagePart, { readonly type: 'text' }>[] {
  return (sentParts(reply) ?? []).map((part, index) => {
    if (part.type === 'file') return { type: 'file', mediaType: part.mediaType, url: part.url }
    const { type, ...data } = part
    const named = part.type === 'custom' ? part : { name: type, data }
    // A custom name is the application's own.
    return { type: `data-${named.name}`, id: `part-${index + 1}`, data: named.data } as FlowDataPart
  })
}
