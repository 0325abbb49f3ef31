/**
 * The neutral form of a conversation between a step and a model. Providers translate from it and to it; the session
 * document stores it as it is: `docs/message-format.md` is the page for whoever reads it there. Every message is frozen when
 * it is made.
 */
import type { JsonObject, JsonValue } from '../util/json.js'

/** Words. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** See {@link ReasoningPart.providerData}. */
  readonly providerData?: JsonObject
}

/** What a model thought on its way to an answer. It is never sent to the user. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  /** The thought, or its summary; empty where the provider keeps it to itself. */
  readonly text: string
  /**
   * What the provider needs back to go on from this part: a signature, an ID, an encrypted thought. Only the provider
   * reads it. Memory keeps it, and reasoning, only in messages that call tools. Default: nothing.
   */
  readonly providerData?: JsonObject
}

/** A tool that the model wants called. */
export interface ToolCallPart {
  readonly type: 'tool-call'
  /** Ties the result to the call; unique within one answer. */
  readonly toolCallId: string
  readonly toolName: string
  /** The arguments as the model wrote them, not yet validated. */
  readonly input: JsonValue
  /** See {@link ReasoningPart.providerData}. */
  readonly providerData?: JsonObject
}

/** What a tool answered. Every {@link ToolCallPart} in memory has one. */
export interface ToolResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: JsonValue
  /** Set where the call was refused or failed, and the model should try something else. */
  readonly isError?: true
}

/** Where the bytes of an {@link ImagePart} or a {@link FilePart} are: here, in base64, or at an address. */
export type MediaSource =
  | { readonly data: string; readonly url?: undefined }
  /** Fetched by the provider, or by its package; the engine never fetches it. */
  | { readonly url: string; readonly data?: undefined }

/** A picture that the user sent. */
export type ImagePart = MediaSource & {
  readonly type: 'image'
  /** As in `image/png`. */
  readonly mediaType: string
}

/** A document, a recording or another file that the user sent. */
export type FilePart = MediaSource & {
  readonly type: 'file'
  /** As in `application/pdf`. */
  readonly mediaType: string
  /** Its name, as the user knows it. */
  readonly name?: string
}

/** A piece of a {@link Message}. */
export type MessagePart = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | ImagePart | FilePart

/** Who speaks. A system prompt is no message: it is made anew for each call and never stored. */
export type MessageRole = 'user' | 'assistant' | 'tool'

/** One message of a memory namespace. */
export interface Message {
  readonly role: MessageRole
  readonly parts: readonly MessagePart[]
  /** The number of the turn it came from, counted from 1. */
  readonly turn: number
  /** Set on the first message of a memory that was summed up: it stands for all that came before. Its turn is the last of those. */
  readonly summary?: true
}

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject
}

/** Tokens that were really spent. */
export interface TokenUsage {
  /** All that went in, what a cache had among it. */
  readonly inputTokens: number
  /** All that came out, reasoning among it. */
  readonly outputTokens: number
  /** Input that came from the provider's cache. Absent where the provider does not say. */
  readonly cachedInputTokens?: number
  /** Output that was reasoning. Absent where the provider does not say. */
  readonly reasoningTokens?: number
}

/** Why a model stopped. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'
