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
  /** Whether a piece came since the time was looked at. The clock is not asked for each: that costs more than a piece. */
  #isHeard = false
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
    return this.#run(1, (resolve, reject) => {
      Promise.resolve(model.generate(this)).then(resolve, reject)
    })
  }

  /** Asks for the answer piece by piece, and passes its text on. Its time is counted from piece to piece. */
  stream(model: Required<RuntimeModel>, stream: TurnStream): Promise<ModelResponse> {
    return this.#run(4, (resolve, reject) => {
      const iterator = model.stream(this)[Symbol.asyncIterator]()
      this.#iterator = iterator
      const read = (): void => {
        iterator.next().then(take, reject)
      }
      const readOn = (): void => {
        this.#isHeldBack = false
        if (!this.#over) read()
      }
      const take = ({ done, value }: IteratorResult<ModelStreamPart>): void => {
        if (this.#over) return
        try {
          if (done === true) throw new AttemptFailure('The stream of its answer ended before it was finished.')
          if (value.type === 'finish') return void resolve(value.response)
          this.#isHeard = true
          const room = value.type === 'text-delta' ? stream.sendText(value.text) : undefined
          this.#isHeldBack = room !== undefined
          if (room === undefined) read()
          else room.then(readOn).catch(reject)
        } catch (error) {
          reject(error)
        }
      }
      read()
    })
  }

  /**
   * @param looks - How often the time is looked at until it is over. An answer in pieces is ended that much late at the
   * most: of 4, after 1 to 1.25 times the limit without a piece.
   */
  #run(
    looks: number,
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
      let quiet = 0
      const look = (): void => {
        quiet = this.#isHeard || this.#isHeldBack ? 0 : quiet + 1
        this.#isHeard = false
        if (quiet < looks) watch()
        else {
          const limit = `the limit modelTimeoutMs (${modelTimeoutMs} ms)`
          const failure = new AttemptFailure(`It did not answer within ${limit}.`)
          this.#end(failure)
          reject(failure)
        }
      }
      const watch = (): void => {
        this.#stopTimer = setDeadline(clock, modelTimeoutMs / looks, look)
      }
      scope.pending = (reason) => this.#end(reason)
      watch()
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
    if (this.#iterator !== undefined) close(this.#iterator).catch(() => undefined)
  }
}

/** Asynchronous, so that what a stream of somebody else's making throws at once is a rejection too. */
async function close(iterator: AsyncIterator<ModelStreamPart>): Promise<void> {
  await iterator.return?.()
}
