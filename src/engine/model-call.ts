/** One call of a model, as its provider gets it. What is asked, and what becomes of the answer, is decided elsewhere. */
import type { JsonObject } from '../json.js'
import type { Message, ToolDefinition } from '../model/message.js'
import type { ModelCallOrigin, ModelRequest } from '../model/model-provider.js'
import type { TurnScope } from './turn-scope.js'

/** A {@link ModelRequest} whose signal is made when it is first asked for. */
export class ModelCall implements ModelRequest {
  declare readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  readonly origin: ModelCallOrigin
  declare readonly signal: AbortSignal
  readonly #scope: TurnScope

  /**
   * Makes `signal` a property of each object, so that a provider that spreads the request passes it on. One getter for
   * all: with a closure for each, every request would have a shape of its own.
   */
  static readonly #signal: PropertyDescriptor & ThisType<ModelCall> = {
    enumerable: true,
    get() {
      return this.#scope.signal
    },
  }

  /** @param system - The prompt; empty for none. */
  constructor(scope: TurnScope, system: string, fields: Omit<ModelRequest, 'system' | 'signal'>) {
    const { messages, tools, params, origin } = fields
    this.messages = messages
    this.tools = tools
    this.params = params
    this.origin = origin
    this.#scope = scope
    Object.defineProperty(this, 'signal', ModelCall.#signal)
    if (system !== '') this.system = system
  }
}
