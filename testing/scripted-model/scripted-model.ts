/**
 * A model that follows a script, records its requests, and fails loudly if the two do not fit.
 * What a script may hold is in `scripted-model/`.
 */

import { systemClock } from '../../src/config/clock.js'
import type {
  Clock,
  ModelProviderAdapter,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../../src/index.js'
import { checkOptionNames, type OptionNames } from '../../src/util/options.js'
import { checkAsked, type ExpectedRequest } from './expected-request.js'
import { type ModelScript, ScriptReader } from './model-script.js'
import { type RecordedRequest, recordedRequest } from './recorded-request.js'
import { cutError, type PlayedAnswer, playedAnswer } from './scripted-answer.js'

export type { ExpectedRequest } from './expected-request.js'
export type { ModelScript, ScriptedReplyFunction } from './model-script.js'
export { type RecordedRequest, recordedRequest } from './recorded-request.js'
export type {
  ScriptedAnswer,
  ScriptedJson,
  ScriptedReply,
  ScriptedToolCall,
} from './scripted-answer.js'

/** The options of {@link ScriptedModel}. */
export interface ScriptedModelOptions {
  /** Default `'scripted'`. */
  readonly provider?: string
  /** Default `'scripted'`. */
  readonly name?: string
  /** The clock for the delays of the script. Default: the machine's. */
  readonly clock?: Clock
}

const providerOptionNames: OptionNames<Omit<ScriptedModelOptions, 'name'>> = { provider: true, clock: true }
const modelOptionNames: OptionNames<ScriptedModelOptions> = { ...providerOptionNames, name: true }

/**
 * A {@link RuntimeModel} that follows a script.
 *
 * @example
 * ```ts
 * const model = new ScriptedModel([
 *   'What is your name?',
 *   { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] },
 * ])
 * const byStep = new ScriptedModel({
 *   AskName: ['What is your name?'],
 *   Confirm: ({ system }) => `The prompt is: ${system}`,
 * })
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

  /** @throws `InvalidInputError` for an unknown option, and for what is not a script. */
  constructor(script: ModelScript, options: ScriptedModelOptions = {}) {
    checkOptionNames('ScriptedModel', options, modelOptionNames)
    this.#script = new ScriptReader(script)
    this.provider = options.provider ?? 'scripted'
    this.name = options.name ?? 'scripted'
    this.#clock = options.clock ?? systemClock
  }

  /** Every request so far, as it was when it was made: one for each attempt at a call. */
  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  /**
   * The first mismatch of the script and the conversation. The engine makes a `MODEL_ERROR` of it, and its text is only
   * here. `undefined` if there is none.
   */
  get complaint(): unknown {
    return this.#complaint
  }

  /** Answers at once, after the delays of the script. */
  async generate(request: ModelRequest): Promise<ModelResponse> {
    const recorded = this.#record(request, false)
    const { signal } = request
    try {
      const { pieces, delayMs, chunkDelayMs, end } = await this.#answerTo(request)
      const between = chunkDelayMs > 0 ? chunkDelayMs * Math.max(0, pieces.length - 1) : 0
      const ms = end === 'stalled' ? Number.POSITIVE_INFINITY : delayMs + between
      if (ms > 0) await this.#wait(ms, signal)
      if (end === 'cut' || end === 'stalled') throw cutError()
      if ('error' in end) throw end.error
      const response = end.response(this.#newCallId)
      recorded.outcome = 'answered'
      return response
    } catch (error) {
      recorded.outcome = signal.aborted ? 'stopped' : 'failed'
      throw error
    }
  }

  /** Streams the answer, as the script says. */
  stream(request: ModelRequest): AsyncGenerator<ModelStreamPart, void, void> {
    return this.#pieces(request, this.#record(request, true))
  }

  /**
   * Fails if the model received another request: the last one, or the one that `call` selects.
   *
   * @throws `ExpectationError`
   * @example
   * ```ts
   * model.expectAsked({ system: /full name/, user: 'Ada', tools: ['capture_name'] })
   * ```
   */
  expectAsked(expected: ExpectedRequest): void {
    checkAsked(this.#requests, expected)
  }

  /**
   * Fails if the script and the conversation did not fit, or the script is not used up.
   *
   * @throws `ExpectationError` that lists the unused answers, or names the function of the script that threw, with its
   * error.
   */
  assertDone(): void {
    if (this.#complaint !== undefined) throw this.#complaint
    this.#script.assertDone()
  }

  /**
   * A model that continues from the same place in the script.
   *
   * @param script - What it says from there. Default: what is left of this one's script.
   */
  fork(script?: ModelScript, options: ScriptedModelOptions = {}): ScriptedModel {
    const { provider, name } = this
    const copy = new ScriptedModel(script ?? this.#script.rest(), { provider, name, clock: this.#clock, ...options })
    // Otherwise the IDs of tool calls would restart and collide with those in the memory.
    copy.#calls = this.#calls
    return copy
  }

  async *#pieces(request: ModelRequest, recorded: Recorded): AsyncGenerator<ModelStreamPart, void, void> {
    const { signal } = request
    // Cleans up after a reader that stops early.
    let outcome: Recorded['outcome'] = 'stopped'
    try {
      const { thoughts, pieces, delayMs, chunkDelayMs, end } = await this.#answerTo(request)
      await this.#wait(delayMs, signal)
      for (const text of thoughts) yield { type: 'reasoning-delta', text }
      for (const [index, text] of pieces.entries()) {
        if (index > 0) await this.#wait(chunkDelayMs, signal)
        yield { type: 'text-delta', text }
      }
      if (end === 'stalled') await this.#wait(Number.POSITIVE_INFINITY, signal)
      else if (end === 'cut') outcome = 'cut'
      else if ('error' in end) throw end.error
      else {
        const response = end.response(this.#newCallId)
        outcome = 'answered'
        yield { type: 'finish', response }
      }
    } catch (error) {
      if (!signal.aborted) outcome = 'failed'
      throw error
    } finally {
      recorded.outcome = outcome
    }
  }

  #record(request: ModelRequest, streamed: boolean): Recorded {
    const recorded: Recorded = recordedRequest(request, streamed)
    this.#requests.push(recorded)
    return recorded
  }

  async #answerTo(request: ModelRequest): Promise<PlayedAnswer> {
    try {
      return playedAnswer(await this.#script.take(request), request)
    } catch (error) {
      this.#complaint ??= error
      throw error
    }
  }

  readonly #newCallId = (): string => `call-${++this.#calls}`

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!(ms > 0)) return
    await new Promise<void>((resolve, reject) => {
      const stop = this.#clock.setTimer(() => {
        signal.removeEventListener('abort', abandon)
        resolve()
      }, ms)
      function abandon(): void {
        stop()
        reject(signal.reason)
      }
      signal.addEventListener('abort', abandon, { once: true })
    })
  }
}

type Recorded = { -readonly [Key in keyof RecordedRequest]: RecordedRequest[Key] }

/** A provider whose models all follow one script. */
export interface ScriptedProvider extends ModelProviderAdapter {
  readonly model: ScriptedModel
  /** Every request so far, as it was when it was made. */
  readonly requests: readonly RecordedRequest[]
  /** Fails if the model received another request: see {@link ScriptedModel.expectAsked}. */
  expectAsked(expected: ExpectedRequest): void
  /**
   * Fails if script and conversation did not fit, or the script is not used up: see {@link ScriptedModel.assertDone}.
   */
  assertDone(): void
}

/**
 * Makes a provider whose models follow `script`.
 *
 * @param options - `provider`: its name, as the `model()` of the flow has it, default `'scripted'`; `clock`: for
 * delays, default the machine's.
 * @throws `InvalidInputError` for an unknown option, and for what is not a script.
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
  checkOptionNames('scriptedProvider', options, providerOptionNames)
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
