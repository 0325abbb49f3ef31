/**
 * What the engine expects of a model, and of whoever makes models. It names and validates; it never talks to a
 * network itself.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../util/json.js'
import type { FinishReason, Message, MessagePart, TokenUsage, ToolDefinition } from './message.js'

/** Which model a flow or a step wants. */
export interface ModelSelection {
  /** The name a provider is registered under. */
  readonly provider: string
  /** The model's name, as the provider knows it. */
  readonly name: string
  /** Parameters of the call (temperature and the like). Default: none. */
  readonly params?: JsonObject
}

/** A model, or several: each stands in for the one before it where that one fails. */
export type ModelChoice = ModelSelection | readonly ModelSelection[]

/** A {@link ModelSelection} with nothing left open. */
export interface ResolvedModelSelection {
  readonly provider: string
  readonly name: string
  readonly params: JsonObject
}

/** Where in a conversation a call comes from: for logs, and for tests that name the step at fault. */
export interface ModelCallOrigin {
  readonly flowName: string
  readonly stepId: string
  readonly sessionId: string
  /** Counted from 1. */
  readonly turnNumber: number
  /** The calls of this turn, this one included. A call that is tried again keeps its number. */
  readonly callNumber: number
  /** The attempts at this call, this one included: 1, until one failed. */
  readonly attempt: number
}

/** The form that an answer must have. */
export interface ModelOutputSchema {
  /** What the provider may call it by: letters, digits, `_` and `-`, at most 64. */
  readonly name: string
  /** JSON Schema of the answer. */
  readonly schema: JsonObject
}

/** One call of a model. */
export interface ModelRequest {
  /** The step's prompt; absent where it has none. */
  readonly system?: string
  /**
   * The memory of the step, oldest first, this turn's user message included. The list is the engine's own and grows
   * after the call: copy it to keep it.
   */
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  /** Set where the answer must be JSON of this form, as its text; tools may be called before. Default: any text. */
  readonly output?: ModelOutputSchema
  readonly origin: ModelCallOrigin
  /** Fires when this attempt has no answer to wait for: the turn was given up, `modelTimeoutMs` is over, or it failed. */
  readonly signal: AbortSignal
}

/** What a model answered. */
export interface ModelResponse {
  /** Text, reasoning and tool calls, in the model's order. */
  readonly parts: readonly MessagePart[]
  /** Default: `'tool-calls'` where a part is one, else `'stop'`. */
  readonly finishReason?: FinishReason
  /** What the call cost. Default: nothing. */
  readonly usage?: TokenUsage
}

/**
 * A piece of an answer that is still being made. The last one is `finish`, and holds all of it. An empty one says nothing but
 * that the model is at work: `modelTimeoutMs` counts from piece to piece.
 */
export type ModelStreamPart =
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'finish'; readonly response: ModelResponse }

/** A model that can be called. */
export interface RuntimeModel {
  readonly provider: string
  readonly name: string
  /** Answers once. What it rejects with becomes a `MODEL_ERROR`; see {@link ModelFailure} for what is tried again. */
  generate(request: ModelRequest): Promise<ModelResponse>
  /**
   * Answers piece by piece, as fast as it is read. A stream that ends without `finish` was cut, and is tried again. Used
   * where somebody reads the stream of a turn. Default: `generate`, whose text is one piece.
   */
  stream?(request: ModelRequest): AsyncIterable<ModelStreamPart>
}

/**
 * What the engine reads of the thing that a call of a model failed with, where it has such properties; errors of the AI
 * SDK's packages and of most clients do. A call is tried again after the statuses 408, 409, 429 and 5xx, after its time is
 * over, and where the network failed.
 */
export interface ModelFailure {
  /** The HTTP status. `status` is read as well. */
  readonly statusCode?: number
  /** Overrules what the status says. */
  readonly isRetryable?: boolean
  /** `retry-after` (seconds or a date) and `retry-after-ms` are read: no new attempt begins earlier. `headers` is read as well. */
  readonly responseHeaders?: Readonly<Record<string, string>> | Headers
  /** What the attempt cost all the same, where that is known. Default: nothing. */
  readonly usage?: TokenUsage
}

/** Makes the models of one provider. Credentials are its own affair and reach neither engine nor document. */
export interface ModelProviderAdapter {
  /** The name that selections use. */
  readonly provider: string
  /**
   * Throws where the provider knows that it cannot serve this selection. Throw an `InvalidInputError` to tell why; of
   * anything else only the fact goes out. Called at session start, so keep it quick.
   */
  validate?(selection: ResolvedModelSelection): void
  /** Makes the model. Called once for each turn and selection, so keep it cheap. */
  resolve(selection: ResolvedModelSelection): RuntimeModel
}

/** Prices for a million tokens each, in one currency that is the application's to choose. */
export interface ModelPrices {
  readonly input: number
  readonly output: number
  /** Of input that came from the provider's cache. Default: that of `input`. */
  readonly cachedInput?: number
}

/** An entry of the model catalog: which parameters a model takes, and how to make it. */
export interface Model {
  readonly provider: string
  readonly name: string
  /**
   * A Standard Schema (Zod, Valibot, ArkType) of the parameters, which must validate synchronously. What it returns is
   * what the model gets. Default: any parameters.
   */
  readonly params?: StandardSchemaV1
  /** What its tokens cost. Default: nobody knows, and no budget of cost may be set where it is used. */
  readonly prices?: ModelPrices
  /** Makes the model. Default: the registered provider does. */
  create?(selection: ResolvedModelSelection): RuntimeModel
}
