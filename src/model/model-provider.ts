/**
 * The interfaces between the engine and models: how a flow selects one, how the engine calls it, and what a provider
 * adapter implements. Types only; nothing here accesses the network.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../util/json.js'
import type { FinishReason, Message, MessagePart, TokenUsage, ToolDefinition } from './message.js'

/** The model that a flow or a step selects. */
export interface ModelSelection {
  /** The name that the provider is registered under. */
  readonly provider: string
  /** The model's name, as the provider knows it. */
  readonly name: string
  /** Parameters of the call (for example temperature). Default: none. */
  readonly params?: JsonObject
}

/** A model, or a list: the first one is called, the others are fallbacks, tried in this order when it fails. */
export type ModelChoice = ModelSelection | readonly ModelSelection[]

/** A {@link ModelSelection} whose optional properties are filled in. */
export interface ResolvedModelSelection {
  readonly provider: string
  readonly name: string
  readonly params: JsonObject
}

/** One call of a model. */
export interface ModelRequest {
  /** The step's prompt; absent if it has none. */
  readonly system?: string
  /**
   * The memory of the step, oldest first, including this turn's user message. Frozen: what the conversation
   * adds later is not in it.
   */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  /** Set if the text of the answer must be JSON of this structure; tools may be called before. Default: any text. */
  readonly output?: {
    /** A name for the provider: 1 to 64 letters, digits, `_` or `-`. */
    readonly name: string
    /** JSON Schema of the answer. */
    readonly schema: JsonObject
  }
  /** The place in a conversation that a call comes from: for logs, and for tests that report the step at fault. */
  readonly origin: {
    readonly flowName: string
    readonly stepId: string
    readonly sessionId: string
    /** Counted from 1. */
    readonly turnNumber: number
    /** The number of this call in its turn, counted from 1. A call that is retried keeps its number. */
    readonly callNumber: number
    /** The number of this attempt at the call, counted from 1. */
    readonly attempt: number
  }
  /**
   * Aborts when the engine no longer waits for this attempt: the turn was aborted,
   * `modelTimeoutMs` is over, or it failed.
   */
  readonly signal: AbortSignal
}

/** The answer of a model. */
export interface ModelResponse {
  /**
   * Text, reasoning and tool calls, in the model's order. A provider does not fail if the arguments of a tool call are
   * not valid JSON: the call has `input: {}`, and `invalidInput` says why, with the beginning of what the model wrote.
   */
  readonly parts: readonly MessagePart[]
  /** Default: `'tool-calls'` if a part is a tool call, else `'stop'`. */
  readonly finishReason?: FinishReason
  /** The tokens of the call. Default: none. */
  readonly usage?: TokenUsage
}

/**
 * A part of a streamed answer. The last one is `finish`, with the whole answer. A delta with an empty text only shows
 * that the model is still working: `modelTimeoutMs` is measured from part to part.
 */
export type ModelStreamPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'finish'; readonly response: ModelResponse }

/** A model that can be called. */
export interface RuntimeModel {
  readonly provider: string
  readonly name: string
  /** Calls the model once. A rejection becomes a `MODEL_ERROR`; see {@link ModelFailure} for which ones are retried. */
  generate(request: ModelRequest): Promise<ModelResponse>
  /**
   * Calls the model once and streams its answer, as fast as it is read. A stream that ends without `finish` counts as
   * cut off, and the call is retried. Used if the turn itself is streamed. Default: `generate`,
   * whose text is one delta.
   */
  stream?(request: ModelRequest): AsyncIterable<ModelStreamPart>
}

/**
 * The properties that the engine reads from the error of a failed model call, if it has them. The errors of the AI
 * SDK's packages and of most clients do. A call is retried after the statuses 408, 409, 429 and 5xx, after a timeout,
 * and after a network failure.
 */
export interface ModelFailure {
  /** The HTTP status. `status` is read as well. */
  readonly statusCode?: number
  /** Takes precedence over the status. */
  readonly isRetryable?: boolean
  /**
   * No retry begins earlier than `retry-after` (seconds or a date) or `retry-after-ms` says. `headers` is read as well.
   */
  readonly responseHeaders?: Readonly<Record<string, string>> | Headers
  /** The tokens that the failed attempt cost, if known. Default: none. */
  readonly usage?: TokenUsage
}

/** Creates the models of one provider. It keeps its credentials to itself: the engine and documents never see them. */
export interface ModelProviderAdapter {
  /** The name that selections use. */
  readonly provider: string
  /**
   * Throws if the provider cannot serve this selection. The message of an `InvalidInputError` is sent to the client;
   * for any other error a general message is sent instead. Called at the start of a session, so keep it fast.
   */
  validate?(selection: ResolvedModelSelection): void
  /** Creates the model. Called once for each turn and selection, so keep it fast. */
  resolve(selection: ResolvedModelSelection): RuntimeModel
}

/** An entry of the model catalog: which parameters a model takes, and how to create it. */
export interface Model {
  readonly provider: string
  readonly name: string
  /**
   * A Standard Schema (Zod, Valibot, ArkType) of the parameters, which must validate synchronously. The model gets what
   * it returns. Default: any parameters.
   */
  readonly params?: StandardSchemaV1
  /**
   * What a million tokens cost, all in one currency, which the application chooses. Default: unknown; flows with a
   * budget of `cost` cannot use the model then.
   */
  readonly prices?: {
    readonly input: number
    readonly output: number
    /** Price of input that came from the provider's cache. Default: that of `input`. */
    readonly cachedInput?: number
  }
  /** Creates the model. Default: the registered provider does. */
  create?(selection: ResolvedModelSelection): RuntimeModel
}

// Names for parts of the types above, within this package.

/** See {@link ModelRequest.origin}. */
export type ModelCallOrigin = ModelRequest['origin']
/** See {@link ModelRequest.output}. */
export type ModelOutputSchema = NonNullable<ModelRequest['output']>
/** See {@link Model.prices}. */
export type ModelPrices = NonNullable<Model['prices']>
