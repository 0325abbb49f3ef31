/**
 * One attempt at a call of a model: waited for no longer than it may take, and over at once when the turn is given up.
 * It leaves no timer behind, and a provider's stream is closed however it ends. Whether there is another attempt is
 * decided elsewhere.
 */
import { setDeadline } from '../../config/clock.js'
import type { Message, ToolDefinition } from '../../model/message.js'
import type {
  ModelCallOrigin,
  ModelOutputSchema,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../../model/model-provider.js'
import type { JsonObject } from '../../util/json.js'
import { limitExceeded } from '../engine-limits.js'
import type { TurnControl } from '../turn/turn-control.js'
import type { TurnStream } from '../turn/turn-stream.js'

/** How an attempt failed whose answer did not come, or not all of it. Read like a failure of the provider's own. */
export class AttemptFailure extends Error {
  readonly isRetryable: boolean

  constructor(message: string, isRetryable = true) {
    super(message)
    this.isRetryable = isRetryable
  }
}

/** What is asked, the same in every attempt. */
export interface ModelQuestion {
  readonly system: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly output: ModelOutputSchema | undefined
}

/** Pieces between two looks at the time. */
const piecesPerLook = 16

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
  /** Whether a piece came since the time was looked at. The clock is not asked for each: that costs more than a piece. */
  #hasNews = false
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

  /** Asks for the answer piece by piece, and passes its text on. Its time is counted from piece to piece. */
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
      // A stream that never makes anybody wait keeps every timer from ringing, that of the turn's deadline too.
      if (++pieces % piecesPerLook === 0 && clock.now() >= control.deadlineAt) control.expire()
      if (this.#over) throw this.#reason
      const { done, value } = await iterator.next()
      if (this.#over) throw this.#reason
      this.#hasNews = true
      if (done === true) throw new AttemptFailure('The stream of its answer ended before it was finished.')
      if (value?.type === 'finish') return value.response
      const isThought = value?.type === 'reasoning-delta'
      const text: unknown = isThought || value?.type === 'text-delta' ? value.text : undefined
      if (typeof text !== 'string') {
        throw new AttemptFailure('It streamed a piece that is no text, no reasoning and no end.', false)
      }
      length += text.length
      // No session could hold it; and there may be no end to it.
      if (length > limits.maxSessionBytes) throw limitExceeded(limits, 'maxSessionBytes', 'The text of an answer')
      if (isThought) continue
      const room = stream.sendText(text)
      if (room === undefined) continue
      this.#isHeldBack = true
      await room
      this.#isHeldBack = false
      // Its time begins anew.
      this.#hasNews = true
    }
  }

  /**
   * @param looks - How often the time is looked at until it is over. An answer in pieces is ended that much late at the
   * most: of 4, after 1 to 1.25 times the limit without a piece.
   */
  #run(looks: number, ask: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const control = this.#control
    const { clock, limits } = control.engine
    const { modelTimeoutMs } = limits
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        this.#end(error)
        reject(error)
      }
      let quiet = 0
      const look = (): void => {
        quiet = this.#hasNews || this.#isHeldBack ? 0 : quiet + 1
        this.#hasNews = false
        if (quiet < looks) watch()
        else fail(new AttemptFailure(`It did not answer within the limit modelTimeoutMs (${modelTimeoutMs} ms).`))
      }
      const watch = (): void => {
        this.#stopTimer = setDeadline(clock, modelTimeoutMs / looks, look)
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
      // A model in this process has answered by then, and needs no timer.
      void Promise.resolve().then(() => {
        if (!this.#over) watch()
      })
    })
  }

  /** @param reason - Set where there is no answer. */
  #end(reason?: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reason = reason
    this.#stopTimer?.()
    this.#control.pending = undefined
    if (reason !== undefined) this.#controller?.abort(reason)
    if (this.#iterator !== undefined) this.#close()
  }

  /** Not waited for, and not listened to: a provider that stalls would not answer here either. */
  #close(): void {
    const close = async (): Promise<unknown> => this.#iterator?.return?.()
    close().catch(() => undefined)
  }
}
