/**
 * One attempt at a call of a model: waited for no longer than it may take, and over at once when the turn is given up.
 * It leaves no timer behind, and a provider's stream is closed however it ends. Whether there is another attempt is
 * decided elsewhere.
 */
import { setDeadline } from '../config/clock.js'
import type { JsonObject } from '../json.js'
import type { Message, ToolDefinition } from '../model/message.js'
import type {
  ModelCallOrigin,
  ModelOutputSchema,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../model/model-provider.js'
import type { TurnScope } from './turn-scope.js'
import type { TurnStream } from './turn-stream.js'

/** How an attempt failed whose answer did not come, or not all of it. Read like a failure of the provider's own. */
export class AttemptFailure extends Error {
  readonly isRetryable = true
}

/** What is asked, the same in every attempt. */
export interface ModelQuestion {
  readonly system: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly output: ModelOutputSchema | undefined
}

/** An attempt under way, and the {@link ModelRequest} that its provider gets. */
export class ModelAttempt implements ModelRequest {
  declare readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  declare readonly output?: ModelOutputSchema
  readonly origin: ModelCallOrigin
  declare readonly signal: AbortSignal
  readonly #scope: TurnScope
  #controller: AbortController | undefined
  #over = false
  /** Why it was broken off. */
  #reason: unknown
  #heardAt = 0
  /** Whether it is the reader of the stream that is waited for. */
  #isHeldBack = false
  #stopTimer: (() => void) | undefined
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

  constructor(scope: TurnScope, question: ModelQuestion, params: JsonObject, origin: ModelCallOrigin) {
    const { system, messages, tools, output } = question
    this.messages = messages
    this.tools = tools
    this.params = params
    this.origin = origin
    this.#scope = scope
    Object.defineProperty(this, 'signal', ModelAttempt.#signal)
    if (system !== undefined) this.system = system
    if (output !== undefined) this.output = output
  }

  /** Asks for the whole answer. */
  generate(model: RuntimeModel): Promise<ModelResponse> {
    return this.#run((resolve, reject) => {
      Promise.resolve(model.generate(this)).then(resolve, reject)
    })
  }

  /** Asks for the answer piece by piece, and passes its text on. Its time is counted from piece to piece. */
  stream(model: Required<RuntimeModel>, stream: TurnStream): Promise<ModelResponse> {
    return this.#run((resolve, reject) => {
      const iterator = model.stream(this)[Symbol.asyncIterator]()
      this.#iterator = iterator
      const read = (): void => {
        this.#isHeldBack = false
        this.#heardAt = this.#scope.parts.clock.now()
        if (!this.#over) iterator.next().then(take).catch(reject)
      }
      const take = ({ done, value }: IteratorResult<ModelStreamPart>): void => {
        if (this.#over) return
        if (done === true) throw new AttemptFailure('The stream of its answer ended before it was finished.')
        if (value.type === 'finish') resolve(value.response)
        else {
          const room = value.type === 'text-delta' ? stream.sendText(value.text) : undefined
          this.#isHeldBack = room !== undefined
          if (room === undefined) read()
          else void room.then(read)
        }
      }
      read()
    })
  }

  #run(
    ask: (resolve: (response: ModelResponse) => void, reject: (error: unknown) => void) => void,
  ): Promise<ModelResponse> {
    const scope = this.#scope
    const { clock, limits } = scope.parts
    const { modelTimeoutMs } = limits
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        this.#end()
        reject(error)
      }
      const watch = (ms: number): void => {
        this.#stopTimer = setDeadline(clock, ms, () => {
          const left = this.#isHeldBack ? modelTimeoutMs : this.#heardAt + modelTimeoutMs - clock.now()
          if (left > 0) return watch(left)
          const failure = new AttemptFailure(
            `It did not answer within the limit modelTimeoutMs (${modelTimeoutMs} ms).`,
          )
          this.#end(failure)
          reject(failure)
        })
      }
      scope.pending = (reason) => this.#end(reason)
      this.#heardAt = clock.now()
      watch(modelTimeoutMs)
      try {
        ask((response) => {
          this.#end()
          resolve(response)
        }, fail)
      } catch (thrown) {
        fail(thrown)
      }
    })
  }

  /** @param reason - Set where the attempt is broken off. */
  #end(reason?: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reason = reason
    this.#stopTimer?.()
    this.#scope.pending = undefined
    if (reason !== undefined) this.#controller?.abort(reason)
    // Not waited for: a provider that stalls would not answer here either.
    const closing = this.#iterator?.return?.()
    closing?.catch(() => undefined)
  }
}
