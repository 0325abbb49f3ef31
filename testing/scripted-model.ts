/**
 * A model that says what a test wrote down, records what it was told, and complains loudly where the two do not fit.
 */
import type {
  JsonValue,
  MessagePart,
  ModelProviderAdapter,
  ModelRequest,
  ModelResponse,
  RuntimeModel,
  TokenUsage,
} from '../src/index.js'

/** A tool call in a script. */
export interface ScriptedToolCall {
  readonly name: string
  /** Default `{}`. */
  readonly input?: JsonValue
  /** Default: `call-1`, `call-2` and so on. */
  readonly id?: string
}

/** One answer in a script: a text, an answer in full, or an error to reject with. */
export type ScriptedReply =
  | string
  | Error
  | {
      readonly text?: string
      readonly toolCalls?: readonly ScriptedToolCall[]
      readonly finishReason?: NonNullable<ModelResponse['finishReason']>
      readonly usage?: TokenUsage
    }

/** The whole script: a list, used up in order, or a function of the request. */
export type ModelScript = readonly ScriptedReply[] | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>)

/** A request as it was at the moment of the call. */
export type RecordedRequest = Omit<ModelRequest, 'signal'>

/**
 * A {@link RuntimeModel} that plays a script.
 *
 * @example
 * ```ts
 * const model = new ScriptedModel(['What is your name?', { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }])
 * ```
 */
export class ScriptedModel implements RuntimeModel {
  readonly provider: string
  readonly name: string
  readonly #script: ModelScript
  readonly #requests: RecordedRequest[] = []
  #calls = 0

  constructor(script: ModelScript, options: { readonly provider?: string; readonly name?: string } = {}) {
    this.#script = script
    this.provider = options.provider ?? 'scripted'
    this.name = options.name ?? 'scripted'
  }

  /** Every request so far, as it was when it was made. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  async generate(request: ModelRequest): Promise<ModelResponse> {
    const { signal: _signal, ...recorded } = request
    this.#requests.push({ ...recorded, messages: [...request.messages] })
    const reply = await this.#next(request)
    if (reply instanceof Error) throw reply
    return this.#toResponse(typeof reply === 'string' ? { text: reply } : reply)
  }

  /**
   * Fails where the script is not used up.
   *
   * @throws Error that tells how many answers are left, and which comes next.
   */
  assertDone(): void {
    if (typeof this.#script === 'function') return
    const left = this.#script.length - this.#requests.length
    if (left <= 0) return
    const reply = this.#script[this.#requests.length]
    const next = reply instanceof Error ? String(reply) : JSON.stringify(reply)
    throw new Error(
      `The script of model '${this.name}' holds ${left} more ${left === 1 ? 'answer' : 'answers'}; the next is ${next}.`,
    )
  }

  async #next(request: ModelRequest): Promise<ScriptedReply> {
    if (typeof this.#script === 'function') return this.#script(request)
    const index = this.#requests.length - 1
    const reply = this.#script[index]
    if (reply !== undefined) return reply
    const { flowName, stepId, turnNumber } = request.origin
    throw new Error(
      `The script of model '${this.name}' holds ${this.#script.length} answers, and step '${stepId}' of flow '${flowName}' asked for number ${index + 1} in turn ${turnNumber}.`,
    )
  }

  #toResponse(reply: Exclude<ScriptedReply, string | Error>): ModelResponse {
    const parts: MessagePart[] = []
    if (reply.text !== undefined) parts.push({ type: 'text', text: reply.text })
    for (const { name, input = {}, id } of reply.toolCalls ?? []) {
      parts.push({ type: 'tool-call', toolCallId: id ?? `call-${++this.#calls}`, toolName: name, input })
    }
    return {
      parts,
      ...(reply.finishReason === undefined ? {} : { finishReason: reply.finishReason }),
      ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    }
  }
}

/** A provider whose every model plays one script. */
export interface ScriptedProvider extends ModelProviderAdapter {
  readonly model: ScriptedModel
  /** Every request so far, as it was when it was made. */
  readonly requests: readonly RecordedRequest[]
  /** Fails where the script is not used up. */
  assertDone(): void
}

/**
 * Makes a provider whose models play `script`.
 *
 * @param options - `provider`: its name. Default `'scripted'`.
 * @example
 * ```ts
 * const provider = scriptedProvider(['What is your name?', 'Thank you.'])
 * const engine = new FlowEngine({ flows: [Onboarding], providers: [provider] })
 * ```
 */
export function scriptedProvider(script: ModelScript, options: { readonly provider?: string } = {}): ScriptedProvider {
  const provider = options.provider ?? 'scripted'
  const model = new ScriptedModel(script, { provider })
  return {
    provider,
    model,
    resolve: () => model,
    get requests() {
      return model.requests
    },
    assertDone: () => model.assertDone(),
  }
}
