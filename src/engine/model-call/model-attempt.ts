/**
 * One attempt at a call of a model. It has a deadline, and ends at once when the turn is aborted. It leaves no timer behind,
 * and a provider's stream is closed however it ends. `attempts.ts` decides whether there is another attempt.
 */
import type { Deadline } from '../../config/deadlines.js'
import type { Message, ToolDefinition } from '../../model/message.js'
import type {
  ModelCallOrigin,
  ModelOutputSchema,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import type { JsonObject } from '../../util/json.js'
import { limitExceeded } from '../engine-limits.js'
import type { TurnControl } from '../turn/turn-control.js'
import type { TurnStream } from '../turn/turn-stream.js'

/** The failure of an attempt whose answer did not come, or not all of it. Treated as a failure of the provider. */
export class AttemptFailure extends Error {
  readonly isRetryable: boolean

  constructor(message: string, isRetryable = true) {
    super(message)
    this.isRetryable = isRetryable
  }
}

/** What a step asks, and of which models. The same in every attempt. */
export interface ModelQuestion {
  readonly stepId: string
  /** The model, and those that stand in for it, in order. */
  readonly models: readonly ResolvedModel[]
  /** Whether the text goes to the reader of the turn's stream while it is made. */
  readonly streams: boolean
  readonly system: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly output: ModelOutputSchema | undefined
}

/** After so many pieces of a stream, the time is checked. */
const piecesPerCheck = 16

/** An attempt under way, and the {@link ModelRequest} that its provider gets. */
export class ModelAttempt implements ModelRequest {
  declare readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  declare readonly output?: ModelOutputSchema
  readonly origin: ModelCallOrigin
  declare readonly signal: AbortSignal
  readonly #control: TurnControl
  #controller: AbortController | undefined
  #over = false
  /** Why there is no answer. */
  #reason: unknown
  /** Whether a piece came since the last check. Reading the clock for each piece would cost more than the piece. */
  #hasNewPiece = false
  /** Whether the attempt waits for the reader of the stream, not for the provider. */
  #isWaitingForReader = false
  #deadline: Deadline | undefined
  #iterator: AsyncIterator<ModelStreamPart> | undefined

  /**
   * Makes `signal` a property of each object, so that a provider that spreads the request passes it on. One getter for
   * all: with a closure for each, every request would have a shape of its own.
   */
  static readonly #signal: PropertyDescriptor & ThisType<ModelAttempt> = {
    enumerable: true,
    get() {
      if (this.#controller === undefined) {
        this.#controller = new AbortController()
        if (this.#reason !== undefined) this.#controller.abort(this.#reason)
      }
      return this.#controller.signal
    },
  }

  constructor(control: TurnControl, question: ModelQuestion, params: JsonObject, origin: ModelCallOrigin) {
    const { system, messages, tools, output } = question
    this.messages = messages
    this.tools = tools
    this.params = params
    this.origin = origin
    this.#control = control
    Object.defineProperty(this, 'signal', ModelAttempt.#signal)
    if (system !== undefined) this.system = system
    if (output !== undefined) this.output = output
  }

  /** Asks for the whole answer. */
  generate(model: RuntimeModel): Promise<ModelResponse> {
    return this.#run(1, () => Promise.resolve(model.generate(this)))
  }

  /** Asks for the answer piece by piece, and passes its text to the stream. The deadline counts from piece to piece. */
  stream(model: Required<RuntimeModel>, stream: TurnStream): Promise<ModelResponse> {
    return this.#run(4, () => this.#read(model.stream(this)[Symbol.asyncIterator](), stream))
  }

  async #read(iterator: AsyncIterator<ModelStreamPart>, stream: TurnStream): Promise<ModelResponse> {
    const control = this.#control
    const { clock, limits } = control.engine
    this.#iterator = iterator
    // The provider may have cancelled the turn itself, just now.
    if (this.#over) this.#close()
    let [length, pieces] = [0, 0]
    for (;;) {
      // A stream whose pieces are all there at once keeps timers from ringing, and so the turn's deadline too.
      if (++pieces % piecesPerCheck === 0 && clock.now() >= control.deadlineAt) control.expire()
      if (this.#over) throw this.#reason
      const { done, value } = await iterator.next()
      if (this.#over) throw this.#reason
      this.#hasNewPiece = true
      if (done === true) throw new AttemptFailure('The stream of its answer ended before it was finished.')
      if (value?.type === 'finish') return value.response
      const isThought = value?.type === 'reasoning-delta'
      const text: unknown = isThought || value?.type === 'text-delta' ? value.text : undefined
      if (typeof text !== 'string') {
        throw new AttemptFailure('It streamed a piece that is not a text, a reasoning or an end.', false)
      }
      length += text.length
      // No session could store it, and it might never end.
      if (length > limits.maxSessionBytes) throw limitExceeded(limits, 'maxSessionBytes', 'The text of an answer')
      if (isThought) continue
      const room = stream.sendText(text)
      if (room === undefined) continue
      this.#isWaitingForReader = true
      await room
      this.#isWaitingForReader = false
      // The wait for the reader does not count.
      this.#hasNewPiece = true
    }
  }

  /**
   * @param checks - How often the time is checked until it is over. A stream ends at most one check too late: with 4, after 1
   * to 1.25 times the limit without a piece.
   */
  #run(checks: number, ask: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const control = this.#control
    const { deadlines, limits } = control.engine
    const { modelTimeoutMs } = limits
    return new Promise((resolve, reject) => {
      const fail = (thrown: unknown): void => {
        const error = thrown === undefined ? new AttemptFailure('It failed without an error.', false) : thrown
        this.#end(error)
        reject(error)
      }
      let quietChecks = 0
      const check = (): void => {
        quietChecks = this.#hasNewPiece || this.#isWaitingForReader ? 0 : quietChecks + 1
        this.#hasNewPiece = false
        if (quietChecks < checks) this.#deadline = deadlines.set(modelTimeoutMs / checks, check)
        else fail(new AttemptFailure(`It did not answer within the limit modelTimeoutMs (${modelTimeoutMs} ms).`))
      }
      control.pending = (reason) => this.#end(reason)
      try {
        ask().then((response) => {
          this.#end()
          resolve(response)
        }, fail)
      } catch (thrown) {
        fail(thrown)
      }
      if (!this.#over) this.#deadline = deadlines.set(modelTimeoutMs / checks, check)
    })
  }

  /** @param reason - Why there is no answer. Default: there is one. */
  #end(reason?: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reason = reason
    this.#deadline?.cancel()
    this.#control.pending = undefined
    if (reason !== undefined) this.#controller?.abort(reason)
    if (this.#iterator !== undefined) this.#close()
  }

  /** Nothing waits for it, and its failure is ignored: a provider that does not answer would not answer here either. */
  #close(): void {
    const close = async (): Promise<unknown> => this.#iterator?.return?.()
    close().catch(() => undefined)
  }
}
