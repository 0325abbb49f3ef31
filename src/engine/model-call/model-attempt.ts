/**
 * One attempt at a model call. It has a deadline, and ends at once if the turn is aborted. It leaves no timer behind,
 * and always closes the provider's stream. `attempts.ts` decides whether there is another attempt.
 */
import { monotonicTime } from '../../config/clock.js'
import type { Deadline } from '../../config/deadlines.js'
import type { FlowError } from '../../errors/flow-error.js'
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
import { limitExceeded } from '../core/engine-limits.js'
import type { TurnStream } from '../stream/turn-stream.js'
import type { TurnControl } from '../turn/control/turn-control.js'

/** The failure of an attempt whose answer was missing or incomplete. Counts as a failure of the provider. */
export class AttemptFailure extends Error {
  readonly isRetryable: boolean

  constructor(message: string, isRetryable = true) {
    super(message)
    this.isRetryable = isRetryable
  }
}

/** A step's request and its models, the same in every attempt. */
export interface ModelQuestion {
  readonly stepId: string
  /** The model and its fallbacks, in order. */
  readonly models: readonly ResolvedModel[]
  /** Whether the text is streamed to the reader of the turn. */
  readonly streams: boolean
  readonly system: string | undefined
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly output: ModelOutputSchema | undefined
  /** The step's time limit for an attempt, in milliseconds. Default: the engine's. */
  readonly modelTimeoutMs?: number | undefined
}

/** The time is checked after this many pieces of a stream. */
const piecesPerCheck = 16

/** The text of a stream piece that is not the last. */
function textOfPiece(piece: ModelStreamPart): string {
  const text: unknown = piece?.type === 'reasoning-delta' || piece?.type === 'text-delta' ? piece.text : undefined
  if (typeof text === 'string') return text
  throw new AttemptFailure('It streamed a piece that is not a text, a reasoning or an end.', false)
}

function tookTooLong({ stepId, modelTimeoutMs }: ModelQuestion, timeoutMs: number): AttemptFailure {
  const owner = modelTimeoutMs === undefined ? '' : ` of step '${stepId}'`
  return new AttemptFailure(`It did not answer within the limit modelTimeoutMs${owner} (${timeoutMs} ms).`)
}

/** A running attempt, and the {@link ModelRequest} for its provider. */
export class ModelAttempt implements ModelRequest {
  declare readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly params: JsonObject
  declare readonly output?: ModelOutputSchema
  readonly origin: ModelCallOrigin
  declare readonly signal: AbortSignal
  readonly #control: TurnControl
  readonly #question: ModelQuestion
  #controller: AbortController | undefined
  #over = false
  /** The reason that there is no answer. */
  #reason: unknown
  /** Whether a piece arrived since the last check. Reading the clock for each piece would cost more than the piece. */
  #hasNewPiece = false
  /** Whether the attempt waits for the reader of the stream, not for the provider. */
  #isWaitingForReader = false
  /** The length of the streamed text, reasoning included. */
  #length = 0
  #deadline: Deadline | undefined
  #iterator: AsyncIterator<ModelStreamPart> | undefined
  readonly #abort = (reason: unknown): void => this.#end(reason)

  /**
   * Makes `signal` a property of each object, so that a provider that spreads the request passes it on. All share one
   * getter: with a closure for each, every request would have a different hidden class.
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
    this.#question = question
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
    this.#iterator = iterator
    // The provider itself may just have cancelled the turn.
    if (this.#over) this.#close()
    let pieces = 0
    for (;;) {
      if (++pieces % piecesPerCheck === 0) this.#checkTurnDeadline()
      if (this.#over) throw this.#reason
      const piece = this.#receive(await iterator.next())
      if (piece?.type === 'finish') return piece.response
      const text = textOfPiece(piece)
      this.#checkLength(text)
      const room = piece.type === 'text-delta' ? stream.sendText(text, this.#control.draft?.calls?.lead) : undefined
      if (room !== undefined) await this.#waitForReader(room)
    }
  }

  /** A stream whose pieces are all available at once keeps timers from firing, including the turn's deadline. */
  #checkTurnDeadline(): void {
    const control = this.#control
    if (monotonicTime(control.engine.clock) >= control.work.deadlineAt) control.work.expire()
  }

  #receive({ done, value }: IteratorResult<ModelStreamPart>): ModelStreamPart {
    if (this.#over) throw this.#reason
    this.#hasNewPiece = true
    if (done === true) throw new AttemptFailure('The stream of its answer ended before it was finished.')
    return value
  }

  /** Refuses a text too large for any session: it might never end. */
  #checkLength(text: string): void {
    const { limits } = this.#control.engine
    this.#length += text.length
    if (this.#length <= limits.maxSessionBytes) return
    throw this.#control.work.own(limitExceeded(limits, 'maxSessionBytes', 'The text of an answer'))
  }

  /** Waits until the reader of the stream is ready for more. This time does not count against the provider. */
  async #waitForReader(room: Promise<void>): Promise<void> {
    this.#isWaitingForReader = true
    await room
    this.#isWaitingForReader = false
    this.#hasNewPiece = true
  }

  /**
   * @param checks - How often the time is checked within the limit. A stream ends at most one check too late: with 4,
   * after 1 to 1.25 times the limit without a piece.
   */
  #run(checks: number, ask: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const control = this.#control
    const { deadlines, limits } = control.engine
    const { modelTimeoutMs: ownTimeoutMs } = this.#question
    const timeoutMs = ownTimeoutMs ?? limits.modelTimeoutMs
    const isOwn = ownTimeoutMs !== undefined
    return new Promise((resolve, reject) => {
      const fail = (thrown: unknown): void => {
        const error = thrown === undefined ? new AttemptFailure('It failed without an error.', false) : thrown
        this.#end(error)
        reject(error)
      }
      let quietChecks = 0
      const check = (failure?: FlowError): void => {
        if (failure !== undefined) {
          fail(failure)
          return
        }
        quietChecks = this.#hasNewPiece || this.#isWaitingForReader ? 0 : quietChecks + 1
        this.#hasNewPiece = false
        if (quietChecks < checks) this.#deadline = deadlines.set(timeoutMs / checks, check, isOwn)
        else fail(tookTooLong(this.#question, timeoutMs))
      }
      control.work.addPending(this.#abort)
      try {
        ask().then((response) => {
          this.#end()
          resolve(response)
        }, fail)
      } catch (thrown) {
        fail(thrown)
      }
      if (!this.#over) this.#deadline = deadlines.set(timeoutMs / checks, check, isOwn)
    })
  }

  /** @param reason - The reason that there is no answer. Default: there is one. */
  #end(reason?: unknown): void {
    if (this.#over) return
    this.#over = true
    this.#reason = reason
    this.#deadline?.cancel()
    this.#control.work.removePending(this.#abort)
    if (reason !== undefined) this.#controller?.abort(reason)
    if (this.#iterator !== undefined) this.#close()
  }

  /** Not awaited, and a failure is ignored: a provider that does not answer would not answer here either. */
  #close(): void {
    const close = async (): Promise<unknown> => this.#iterator?.return?.()
    close().catch(() => undefined)
  }
}
