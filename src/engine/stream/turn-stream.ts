/**
 * The stream of one turn. It numbers the pieces of the turn and passes them to the reader, and to the streams of
 * repeated requests that follow it. `run-turn.ts` and the files it calls write the pieces; `piece-queue.ts` queues them
 * for the reader.
 *
 * A `reset` piece discards the text so far. A reader that reconnects may still show old text, so it gets a reset with
 * the reason `resume`, unless its last ID shows that it has missed nothing.
 */
import { onAbort } from '../../util/on-abort.js'
import type { ExecuteResult } from '../core/engine-options.js'
import type { FlowStream, FlowStreamEvent, StreamOptions, StreamResetReason } from '../core/flow-stream.js'
import { checkStreamOptions } from './check-stream-options.js'
import { finished, PieceQueue, type Read } from './piece-queue.js'

const resumed: FlowStreamEvent = { type: 'reset', reason: 'resume' }

/** The stream of one turn: the turn writes on one side, the application reads on the other. */
export class TurnStream implements FlowStream {
  readonly #start: (stream: TurnStream) => Promise<ExecuteResult>
  readonly #options: StreamOptions
  readonly #controller = new AbortController()
  readonly #queue = new PieceQueue()
  #stopListening: (() => void) | undefined
  /** Resolves when the turn is settled; `undefined` before it began. */
  #turn: Promise<void> | undefined
  /** Whether the turn continues without its reader and never waits for it. */
  #goesOn = false
  /** Whether the last piece was sent. */
  #hasEnded = false
  /** The turn of this stream, the turn whose pieces it sends, and the number of the last piece. */
  #ownTurnId = ''
  #turnId = ''
  #number = 0
  /** The ID of the last piece that the reader has, or will have after reading the queue. */
  #position = ''
  /** The valid text so far. */
  #text = ''
  /** Whether the reader may still show discarded text. */
  #isStale = false
  /** The first pieces for a stream that follows this one. */
  #session: FlowStreamEvent | undefined
  #step: FlowStreamEvent | undefined
  /** The stream whose pieces the reader gets; `undefined` if they come from this turn. */
  #source: TurnStream | undefined
  #followers: Set<TurnStream> | undefined

  /**
   * @param start - Runs the turn. Must not reject.
   * @param options - The options of `engine.stream`, checked when the turn begins.
   */
  constructor(start: (stream: TurnStream) => Promise<ExecuteResult>, options: StreamOptions = {}) {
    this.#start = start
    this.#options = options
  }

  /**
   * Fires if the reader leaves early and the turn does not go on, and with the signal passed to {@link followSignal}.
   */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resolves when the turn has settled, if it goes on without its reader; otherwise `undefined`. */
  get goingOn(): Promise<void> | undefined {
    return this.#goesOn ? this.#turn : undefined
  }

  get lastEventId(): string {
    return this.#queue.lastEventId
  }

  /** The turn whose pieces are sent; empty before there is one. */
  get turnId(): string {
    return this.#turnId
  }

  /** Set by the turn of this stream. */
  set turnId(turnId: string) {
    this.#ownTurnId = turnId
    if (this.#source === undefined) this.#turnId = turnId
  }

  /**
   * Reads the options of the stream.
   *
   * @param hasKey - Whether the request has an idempotency key: only then can a reader reconnect.
   * @throws `InvalidInputError`
   */
  readOptions(hasKey: boolean): void {
    const { onDisconnect = hasKey ? 'finish' : 'cancel', lastEventId = '' } = checkStreamOptions(this.#options)
    this.#goesOn = onDisconnect === 'finish'
    if (!hasKey || lastEventId === '') return
    this.#position = lastEventId
    this.#isStale = true
  }

  /** Aborts the turn with the caller's signal. */
  followSignal(signal: AbortSignal | undefined): void {
    const abort = (): void => this.#controller.abort(signal?.reason)
    this.#stopListening = onAbort(signal, abort)
    if (signal?.aborted === true) abort()
  }

  /** For `for await`. */
  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next piece. The first call begins the turn. */
  next(): Promise<Read> {
    if (this.#turn === undefined) this.#begin()
    return this.#queue.next()
  }

  /**
   * Stops reading. If the turn goes on, or belongs to another request, that is all. Otherwise the turn is aborted,
   * unless its commit has begun, and the promise resolves when it has settled.
   */
  async return(): Promise<Read> {
    this.#turn ??= Promise.resolve()
    this.#queue.leave()
    const source = this.#source
    if (this.#followers === undefined) source?.removeFollower(this)
    if (this.#goesOn) return finished
    this.#controller.abort()
    if (source === undefined) await this.#turn
    return finished
  }

  /**
   * Sends a piece without waiting. If this stream followed another turn that was then cancelled, the first piece of its
   * own turn ends the following.
   */
  send(event: FlowStreamEvent): void {
    if (this.#hasEnded) return
    if (this.#source !== undefined) this.#beginAnew()
    this.#sendNext(event)
  }

  /**
   * Sends a piece of the reply. Returns the {@link room} for more.
   *
   * @param lead - What comes before the reply. Default: nothing.
   */
  sendText(text: string, lead?: string): Promise<void> | undefined {
    if (text === '') return undefined
    this.send({ type: 'text-delta', text: lead === undefined || this.#text !== '' ? text : `${lead}\n\n${text}` })
    return this.room()
  }

  /** If the queue is full, a promise that resolves when there is room. A turn that goes on by itself never waits. */
  room(): Promise<void> | undefined {
    return this.#goesOn ? undefined : this.#queue.room()
  }

  /** Discards the text so far, if there is any. */
  reset(reason: StreamResetReason): void {
    if (this.#text !== '') this.send({ type: 'reset', reason })
  }

  /**
   * Switches the reader to the pieces of another stream, whose turn answers this request too: the session, the current
   * step, the text so far, and the following pieces. The last piece comes from this stream's own `start`.
   *
   * @param source - `undefined` if that turn is not streamed; then only the last piece is sent.
   */
  follow(source: TurnStream | undefined): void {
    this.#stopFollowing()
    if (source === undefined) return
    this.#source = source
    source.#followers ??= new Set()
    source.#followers.add(this)
    this.#isStale = true
    if (source.#number === 0) return
    this.#turnId = source.#turnId
    // Pieces before its last one get the number 0, an ID that never matches as "nothing missed".
    const hasAll = this.#position !== '' && this.#position === source.#position
    const number = hasAll ? source.#number : 0
    this.#isStale = false
    for (const event of [source.#session, source.#step]) if (event !== undefined) this.#take(event, number)
    this.#number = source.#number
    if (hasAll) this.#text = source.#text
    else if (source.#text === '') this.#add(resumed, this.#number)
    else {
      this.#add(resumed, 0)
      this.#add({ type: 'text-delta', text: source.#text }, this.#number)
    }
  }

  /** Restarts the numbering, and discards text of another turn. */
  #beginAnew(): void {
    this.#stopFollowing()
    this.#turnId = this.#ownTurnId
    this.#number = 0
    this.#session = undefined
    this.#step = undefined
  }

  #sendNext(event: FlowStreamEvent): void {
    this.#pass(event, this.#number + 1)
  }

  /** A piece of the stream that this one follows. */
  #receive(event: FlowStreamEvent, number: number): void {
    this.#turnId = (this.#source as TurnStream).#turnId
    this.#take(event, number)
  }

  #take(event: FlowStreamEvent, number: number): void {
    this.#pass(event.type === 'session' ? { ...event, replayed: true } : event, number)
  }

  /** Adds a piece, preceded by a reset if a returning reader could misread it. */
  #pass(event: FlowStreamEvent, number: number): void {
    this.#number = number
    if (this.#isStale && event.type !== 'error') {
      this.#isStale = false
      const isSession = event.type === 'session'
      this.#add(isSession ? event : resumed, 0)
      this.#add(isSession ? resumed : event, number)
    } else this.#add(event, number)
  }

  #add(event: FlowStreamEvent, number: number): void {
    if (event.type === 'session') this.#session = event
    else if (event.type === 'step') this.#step = event
    else if (event.type === 'text-delta') this.#text += event.text
    else if (event.type === 'reset') this.#text = ''
    const id = this.#turnId === '' ? '' : `${this.#turnId}:${number}`
    this.#position = id
    this.#queue.push({ event, id }, this.#goesOn || this.#source !== undefined)
    if (this.#followers === undefined || event.type === 'result' || event.type === 'error') return
    for (const follower of this.#followers) follower.#receive(event, number)
  }

  /** Sends no more pieces to a stream that follows this one. */
  removeFollower(follower: TurnStream): void {
    this.#followers?.delete(follower)
  }

  /** Discards the text sent so far. */
  #stopFollowing(): void {
    this.#source?.removeFollower(this)
    this.#source = undefined
    if (this.#text !== '') this.#isStale = true
    this.#text = ''
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
    const result = await this.#start(this)
    this.#stopListening?.()
    this.#conclude(result)
    this.#hasEnded = true
    this.#source?.removeFollower(this)
    this.#followers = undefined
    this.#queue.end()
  }

  #conclude({ response, error, ...rest }: ExecuteResult): void {
    if (error !== undefined) {
      this.#sendNext({ type: 'error', response, error, ...rest })
      return
    }
    const { replayed, restarted } = rest
    if (replayed === true && this.#number === 0) {
      const { session } = response
      this.#sendNext({ type: 'session', session, replayed, ...(restarted === undefined ? {} : { restarted }) })
    }
    // The streamed text is the reply, or it is discarded.
    if (this.#text !== '' && this.#text !== response.message) this.#sendNext({ type: 'reset', reason: 'reply' })
    this.#sendNext({ type: 'result', response, ...rest })
  }
}
