/**
 * A model that says what a test wrote down, records what it was told, and complains loudly where the two do not fit.
 * What a script may hold is in `scripted-model/`.
 */
import {
  type Clock,
  type MessagePart,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type RuntimeModel,
  systemClock,
} from '../src/index.js'
import { ExpectationError, list } from './expectation-error.js'
import { type AskedExpectation, checkAsked } from './scripted-model/asked.js'
import {
  askedOf,
  type ModelScript,
  type ScriptedAnswer,
  type ScriptedReply,
  ScriptReader,
  whereOf,
} from './scripted-model/model-script.js'

export type { AskedExpectation } from './scripted-model/asked.js'
export type {
  ModelScript,
  ScriptedAnswer,
  ScriptedReplies,
  ScriptedReply,
  ScriptedReplyFunction,
  ScriptedToolCall,
} from './scripted-model/model-script.js'

/** A request as it was at the moment of the call. */
export type RecordedRequest = Omit<ModelRequest, 'signal'>

/** What the constructor of {@link ScriptedModel} takes beside the script. */
export interface ScriptedModelOptions {
  /** Default `'scripted'`. */
  readonly provider?: string
  /** Default `'scripted'`. */
  readonly name?: string
  /** The clock that `delayMs` goes by. Default: the machine's. */
  readonly clock?: Clock
}

/**
 * A {@link RuntimeModel} that plays a script.
 *
 * @example
 * ```ts
 * const model = new ScriptedModel(['What is your name?', { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }])
 * const byStep = new ScriptedModel({ AskName: ['What is your name?'], Confirm: ({ system }) => `I was told: ${system}` })
 * ```
 */
export class ScriptedModel implements RuntimeModel {
  readonly provider: string
  readonly name: string
  readonly #script: ScriptReader
  readonly #clock: Clock
  readonly #requests: RecordedRequest[] = []
  #calls = 0
  #complaint: unknown

  constructor(script: ModelScript, options: ScriptedModelOptions = {}) {
    this.#script = new ScriptReader(script)
    this.provider = options.provider ?? 'scripted'
    this.name = options.name ?? 'scripted'
    this.#clock = options.clock ?? systemClock
  }

  /** Every request so far, as it was when it was made. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  /**
   * The first thing that went wrong between the script and the conversation: an engine makes a `MODEL_ERROR` of it, and
   * its own text reaches nobody. `undefined` where all is well.
   */
  get complaint(): unknown {
    return this.#complaint
  }

  async generate(request: ModelRequest): Promise<ModelResponse> {
    const { system, messages, tools, params, origin } = request
    const recorded = { messages: [...messages], tools, params, origin }
    this.#requests.push(system === undefined ? recorded : { ...recorded, system })
    const answer = await this.#answerTo(request)
    const { delayMs = 0, error } = answer
    if (delayMs > 0) await this.#wait(delayMs, request.signal)
    if (error !== undefined) throw error
    return this.#toResponse(answer)
  }

  /**
   * Fails where the model was told something else, in its last request or the one that `call` names.
   *
   * @throws `ExpectationError`
   * @example
   * ```ts
   * model.expectAsked({ system: /full name/, user: 'Ada', tools: ['capture_name'] })
   * ```
   */
  expectAsked(expected: AskedExpectation): void {
    checkAsked(this.#requests, expected)
  }

  /**
   * Fails where the script and the conversation did not fit, or the script is not used up.
   *
   * @throws `ExpectationError` that tells what is left. What a function of the script threw.
   */
  assertDone(): void {
    if (this.#complaint !== undefined) throw this.#complaint
    this.#script.assertDone()
  }

  /**
   * A model that goes on where this one stands.
   *
   * @param script - What it says from there. Default: what is left of this one's script.
   */
  fork(script?: ModelScript, options: ScriptedModelOptions = {}): ScriptedModel {
    const { provider, name } = this
    const copy = new ScriptedModel(script ?? this.#script.rest(), { provider, name, clock: this.#clock, ...options })
    // Or the IDs of tool calls would begin anew, in a memory that has them already.
    copy.#calls = this.#calls
    return copy
  }

  async #answerTo(request: ModelRequest): Promise<ScriptedAnswer> {
    try {
      const answer = toAnswer(await this.#script.take(request))
      checkOffered(answer, request)
      return answer
    } catch (error) {
      this.#complaint ??= error
      throw error
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.#clock.setTimer(resolve, ms)
      const giveUp = (): void => {
        stop()
        reject(signal.reason)
      }
      if (signal.aborted) giveUp()
      else signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #toResponse({ text, toolCalls, refusal, finishReason, usage }: ScriptedAnswer): ModelResponse {
    const parts: MessagePart[] = []
    if (text !== undefined) parts.push({ type: 'text', text })
    if (refusal !== undefined) parts.push({ type: 'text', text: refusal })
    for (const { name, input = {}, id } of toolCalls ?? []) {
      parts.push({ type: 'tool-call', toolCallId: id ?? `call-${++this.#calls}`, toolName: name, input })
    }
    const reason = finishReason ?? (refusal === undefined ? undefined : 'content-filter')
    return {
      parts,
      ...(reason === undefined ? {} : { finishReason: reason }),
      ...(usage === undefined ? {} : { usage }),
    }
  }
}

function toAnswer(reply: ScriptedReply): ScriptedAnswer {
  if (typeof reply === 'string') return { text: reply }
  return reply instanceof Error ? { error: reply } : reply
}

function checkOffered({ toolCalls = [] }: ScriptedAnswer, request: ModelRequest): void {
  const offered = request.tools.map(({ name }) => name)
  const missing = toolCalls.filter((call) => call.offered !== false && !offered.includes(call.name))
  if (missing.length === 0) return
  throw new ExpectationError(
    `The script calls a tool that the step does not offer: '${list(missing.map(({ name }) => name))}' (${whereOf(request)}).\n${askedOf(request)}\nMend the name, or write offered: false beside it if the model is meant to be wrong.`,
  )
}

/** A provider whose every model plays one script. */
export interface ScriptedProvider extends ModelProviderAdapter {
  readonly model: ScriptedModel
  /** Every request so far, as it was when it was made. */
  readonly requests: readonly RecordedRequest[]
  /** Fails where the model was told something else: see {@link ScriptedModel.expectAsked}. */
  expectAsked(expected: AskedExpectation): void
  /** Fails where script and conversation did not fit, or the script is not used up: see {@link ScriptedModel.assertDone}. */
  assertDone(): void
}

/**
 * Makes a provider whose models play `script`.
 *
 * @param options - `provider`: its name, default `'scripted'`; `clock`: what `delayMs` goes by, default the machine's.
 * @example
 * ```ts
 * const provider = scriptedProvider(['What is your name?', 'Thank you.'])
 * const engine = new FlowEngine({ flows: [Onboarding], providers: [provider] })
 * ```
 */
export function scriptedProvider(
  script: ModelScript,
  options: Omit<ScriptedModelOptions, 'name'> = {},
): ScriptedProvider {
  const model = new ScriptedModel(script, options)
  return {
    provider: model.provider,
    model,
    resolve: () => model,
    get requests() {
      return model.requests
    },
    expectAsked: (expected) => model.expectAsked(expected),
    assertDone: () => model.assertDone(),
  }
}
