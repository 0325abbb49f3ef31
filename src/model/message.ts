/**
 * The neutral form of a conversation between a step and a model. Providers translate from it and to it; the session
 * document stores it as it is. Every message is frozen when it is made.
 */
import type { JsonObject, JsonValue } from '../json.js'

/** Words. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** A tool that the model wants called. */
export interface ToolCallPart {
  readonly type: 'tool-call'
  /** Ties the result to the call; unique within the conversation. */
  readonly toolCallId: string
  readonly toolName: string
  /** The arguments as the model wrote them, not yet validated. */
  readonly input: JsonValue
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

/** A piece of a {@link Message}. */
export type MessagePart = TextPart | ToolCallPart | ToolResultPart

/** Who speaks. A system prompt is no message: it is made anew for each call and never stored. */
export type MessageRole = 'user' | 'assistant' | 'tool'

/** One message of a memory namespace. */
export interface Message {
  readonly role: MessageRole
  readonly parts: readonly MessagePart[]
  /** The number of the turn it came from, counted from 1. */
  readonly turn: number
}

/** What a model is told of a tool. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject
}

/** Tokens and calls that were really spent. */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Why a model stopped. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'
