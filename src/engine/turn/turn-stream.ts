/**
 * The stream of one turn: a small buffer of pieces between the turn and its reader. The turn waits while the buffer is
 * full. A `reset` piece says that the text so far does not count. `run-turn.ts` and the files it calls write the pieces.
 */
import { onAbort } from '../../util/on-abort.js'
import type { ExecuteResult } from '../engine-options.js'
import type { FlowStream, FlowStreamEvent, StreamResetReason } from './flow-stream.js'

/** Pieces that the buffer has room for. */
const maxWaiting = 16

type Read = IteratorResult<FlowStreamEvent, undefined>

const finished: Read = { done: true, value: undefined }

/** The stream of one turn: the turn writes on one side, the application reads on the other. */
export class TurnStream implements FlowStream {
  readonly #start: (stream: TurnStream) => Promise<ExecuteResult>
  readonly #controller = new AbortController()
  #stopListening: (() => void) | undefined
  readonly #waiting: FlowStreamEvent[] = []
  /** The call of `next` that waits for a piece, and the calls after it. */
  #reader: ((read: Read) => void) | undefined
  readonly #moreReaders: ((read: Read) => void)[] = []
  /** Resolves when the turn is settled; `undefined` before it began. */
  #turn: Promise<void> | undefined
  /** Resolves when the buffer has room again. */
  #room: Promise<void> | undefined
  #makeRoom: (() => void) | undefined
  /** The reader has left, or the last piece was sent. */
  #ended = false
  /** The text that counts so far. */
  #text = ''

  /** @param start - Runs the turn. Must not reject. */
  constructor(start: (stream: TurnStream) => Promise<ExecuteResult>) {
    this.#start = start
  }

  /** Fires when the reader leaves early, and with the signal that {@link followSignal} was given. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Aborts the turn with a signal of the caller's. */
  followSignal(signal: AbortSignal | undefined): void {
    const abort = (): void => this.#controller.abort(signal?.reason)
    this.#stopListening = onAbort(signal, abort)
    if (signal?.aborted === true) abort()
  }

  /** Passes the pieces of another turn to this reader. */
  follow(_source: TurnStream | undefined): void {}

  /** For `for await`. */
  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next piece. The first call begins the turn. */
  next(): Promise<Read> {
    if (this.#turn === undefined) this.#begin()
    if (this.#waiting.length > 0) {
      const value = this.#waiting.shift() as FlowStreamEvent
      this.#makeRoom?.()
      return Promise.resolve({ done: false, value })
    }
    if (this.#ended) return Promise.resolve(finished)
    return new Promise((resolve) => {
      if (this.#reader === undefined) this.#reader = resolve
      else this.#moreReaders.push(resolve)
    })
  }

  /** Aborts the turn, unless its commit has begun. Resolves when it is settled. */
  async return(): Promise<Read> {
    this.#turn ??= Promise.resolve()
    this.#end()
    this.#waiting.length = 0
    this.#makeRoom?.()
    this.#controller.abort()
    await this.#turn
    return finished
  }

  /** Sends a piece that is not waited for. */
  send(event: FlowStreamEvent): void {
    if (this.#ended) return
    const reader = this.#reader
    if (reader === undefined) return void this.#waiting.push(event)
    this.#reader = this.#moreReaders.length === 0 ? undefined : this.#moreReaders.shift()
    reader({ done: false, value: event })
  }

  /** Sends a piece of the reply. Returns the {@link room} for more. */
  sendText(text: string): Promise<void> | undefined {
    if (text === '') return undefined
    this.#text += text
    this.send({ type: 'text-delta', text })
    return this.room()
  }

  /** Where too many pieces wait, a promise of the time when there is room again. */
  room(): Promise<void> | undefined {
    if (this.#waiting.length < maxWaiting) return undefined
    this.#room ??= new Promise((resolve) => {
      this.#makeRoom = () => {
        this.#room = undefined
        this.#makeRoom = undefined
        resolve()
      }
    })
    return this.#room
  }

  /** Takes back the text so far, if there is any. */
  reset(reason: StreamResetReason): void {
    if (this.#text === '') return
    this.#text = ''
    this.send({ type: 'reset', reason })
  }

  #begin(): void {
    let settle!: () => void
    // Set before the turn runs, because its code or a listener may call next() or return().
    this.#turn = new Promise((resolve) => {
      settle = resolve
    })
    void this.#run().then(settle)
  }

  async #run(): Promise<void> {
    const { response, error, ...rest } = await this.#start(this)
    this.#stopListening?.()
    if (error !== undefined) this.send({ type: 'error', response, error, ...rest })
    else {
      // What was streamed is the reply, or it does not count.
      if (this.#text !== response.message) this.reset('reply')
      this.send({ type: 'result', response, ...rest })
    }
    this.#end()
  }

  #end(): void {
    this.#ended = true
    this.#reader?.(finished)
    for (const reader of this.#moreReaders.splice(0)) reader(finished)
  }
}
