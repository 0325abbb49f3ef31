/**
 * The messages of a conversation between a step and a model, in the same form for every provider. Provider adapters
 * convert to and from it. Session documents store it; `docs/message-format.md` describes the stored form. Every message
 * is frozen when it is created.
 */
import type { JsonObject, JsonValue } from '../util/json.js'

/** Text. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** See {@link ReasoningPart.providerData}. */
  readonly providerData?: JsonObject
}

/** The reasoning of a model before its answer. It is never sent to the user. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  /** The reasoning, or a summary of it; empty if the provider does not disclose it. */
  readonly text: string
  /**
   * Data that the provider must receive again to continue after this part: a signature, an ID, encrypted reasoning.
   * Only the provider reads it. Memory keeps it, and reasoning, only in messages that call tools. Default: none.
   */
  readonly providerData?: JsonObject
}

/** The model's request to call a tool. */
export interface ToolCallPart {
  readonly type: 'tool-call'
  /**
   * Links the result to the call. It is unique within its memory namespace: if the ID is missing or already used, the
   * engine assigns another one.
   */
  readonly toolCallId: string
  readonly toolName: string
  /** The arguments as the model wrote them, not yet validated. `{}` if there is {@link ToolCallPart.invalidInput}. */
  readonly input: JsonValue
  /**
   * The reason that the arguments cannot be read: `They are not valid JSON: {"order": A-1`. The tool is not run, and
   * the model reads the reason in the result of the call. At most 300 characters are stored. Default: the arguments are
   * readable.
   */
  readonly invalidInput?: string
  /** See {@link ReasoningPart.providerData}. */
  readonly providerData?: JsonObject
}

/** The result of a tool call. Every {@link ToolCallPart} in memory has one. */
export interface ToolResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: JsonValue
  /** Set if the call was refused or failed, so that the model can try something else. */
  readonly isError?: true
}

/**
 * The bytes of an {@link ImagePart} or a {@link FilePart}: in base64, or a URL to fetch them from.
 *
 * @inline
 */
export type MediaSource =
  | { readonly data: string; readonly url?: undefined }
  /** The provider, or its client package, fetches the URL; the engine never does. */
  | { readonly url: string; readonly data?: undefined }

/** An image that the user sent. */
export type ImagePart = MediaSource & {
  readonly type: 'image'
  /** For example `image/png`. */
  readonly mediaType: string
}

/** A document, a recording or another file that the user sent. */
export type FilePart = MediaSource & {
  readonly type: 'file'
  /** For example `application/pdf`. */
  readonly mediaType: string
  /** The name of the file, as the user knows it. */
  readonly name?: string
}

/**
 * An image or a file in a stored message. Its bytes are in `attachments` of the session document, until the limit
 * `attachmentTurns` removes them. A model receives the {@link ImagePart} or {@link FilePart} instead or, if the bytes
 * were removed, a text that describes the file.
 *
 * @inline
 */
export interface AttachmentReference {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly name?: string
  /** The `id` of the attachment. */
  readonly attachment: string
}

/** A piece of a {@link Message}. */
export type MessagePart = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | ImagePart | FilePart

/** One message of a memory namespace. */
export interface Message {
  /** Who wrote the message. System prompts are not messages: they are created for each call and never stored. */
  readonly role: 'user' | 'assistant' | 'tool'
  readonly parts: readonly MessagePart[]
  /** The number of the turn in which it was added, counted from 1. */
  readonly turn: number
  /**
   * Set on the first message of a memory if it is a summary that replaces all earlier messages. Its `turn` is the turn
   * of the last message that it replaces.
   */
  readonly summary?: true
}

/** A {@link Message} as a session stores it: images and files that came as bytes are references. */
export interface StoredMessage extends Omit<Message, 'parts'> {
  readonly parts: readonly (MessagePart | AttachmentReference)[]
}

/** The description of a tool that a model receives. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject
}

/** Token counts from a provider. */
export interface TokenUsage {
  /** All input, including cached input. */
  readonly inputTokens: number
  /** All output, including reasoning. */
  readonly outputTokens: number
  /** Input that came from the provider's cache. Absent if the provider does not report it. */
  readonly cachedInputTokens?: number
  /** Output used for reasoning. Absent if the provider does not report it. */
  readonly reasoningTokens?: number
}

/** Why a model stopped generating. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

/** See {@link Message.role}. */
export type MessageRole = Message['role']
