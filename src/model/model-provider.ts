/**
 * What the engine expects of a model, and of whoever makes models. It names and validates; it never talks to a
 * network itself.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../json.js'
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
  /** The calls of this turn, this one included. */
  readonly callNumber: number
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
  readonly origin: ModelCallOrigin
  /** Fires when the turn is given up. */
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

/** A model that can be called. */
export interface RuntimeModel {
  readonly provider: string
  readonly name: string
  /** Answers once. What it rejects with becomes a `MODEL_ERROR`; the engine does not call again. */
  generate(request: ModelRequest): Promise<ModelResponse>
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

/** An entry of the model catalog: which parameters a model takes, and how to make it. */
export interface Model {
  readonly provider: string
  readonly name: string
  /**
   * A Standard Schema (Zod, Valibot, ArkType) of the parameters, which must validate synchronously. What it returns is
   * what the model gets. Default: any parameters.
   */
  readonly params?: StandardSchemaV1
  /** Makes the model. Default: the registered provider does. */
  create?(selection: ResolvedModelSelection): RuntimeModel
}
