/**
 * The stream of one turn: it numbers the pieces of the turn and passes them to the reader, and to the streams of
 * repeats of the request, which follow it. `run-turn.ts` and the files it calls write the pieces; `piece-queue.ts`
 * keeps them for the reader.
 *
 * A `reset` piece says that the text so far does not count. A reader that was here before may still show text of that
 * time: it gets a reset with the reason `resume`, unless the ID that it names shows that it has missed nothing.
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
  /** Whether the turn goes on without its reader, and never waits for it. */
  #goesOn = false
  /** The last piece was sent. */
  #hasEnded = false
  /** The turn of this stream, and the turn that the pieces are of, and the number of the last one. */
  #ownTurnId = ''
  #turnId = ''
  #number = 0
  /** The ID of the last piece that the reader has, or will have when it has read what waits. */
  #position = ''
  /** The text that counts so far. */
  #text = ''
  /** Whether the reader may show text that does not count. */
  #isStale = false
  /** What a stream that follows this one gets first. */
  #session: FlowStreamEvent | undefined
  #step: FlowStreamEvent | undefined
  /** The stream whose pieces the reader gets; `undefined` where they come from this turn. */
  #source: TurnStream | undefined
  #followers: Set<TurnStream> | undefined

  /**
   * @param start - Runs the turn. Must not reject.
   * @param options - What the caller of `engine.stream` passed; checked when the turn begins.
   */
  constructor(start: (stream: TurnStream) => Promise<ExecuteResult>, options: StreamOptions = {}) {
    this.#start = start
    this.#options = options
  }

  /**
   * Fires when the reader leaves early, unless the turn goes on then, and with the signal that
   * {@link followSignal} was given.
   */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The promise that the turn is settled, where it goes on without its reader; `undefined` where it does not. */
  get goingOn(): Promise<void> | undefined {
    return this.#goesOn ? this.#turn : undefined
  }

  get lastEventId(): string {
    return this.#queue.lastEventId
  }

  /** The turn that the pieces are of; empty before there is one. */
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
   * @param hasKey - Whether the request has an idempotency key: only then can a reader come back.
   * @throws `InvalidInputError`
   */
  readOptions(hasKey: boolean): void {
    const { onDisconnect = hasKey ? 'finish' : 'cancel', lastEventId = '' } = checkStreamOptions(this.#options)
    this.#goesOn = onDisconnect === 'finish'
    if (!hasKey || lastEventId === '') return
    this.#position = lastEventId
    this.#isStale = true
  }

  /** Aborts the turn with a signal of the caller's. */
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
   * Stops reading. Where the turn goes on, and where it is that of another request, that is all. Otherwise it is
   * aborted, unless its commit has begun, and the promise resolves when it is settled.
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
   * Sends a piece that is not waited for. The first one of a turn that runs here although this stream has followed
   * another, which was then cancelled, ends that.
   */
  send(event: FlowStreamEvent): void {
    if (this.#hasEnded) return
    if (this.#source !== undefined) this.#beginAnew()
    this.#sendNext(event)
  }

  /** Sends a piece of the reply. Returns the {@link room} for more. */
  sendText(text: string): Promise<void> | undefined {
    if (text === '') return undefined
    this.send({ type: 'text-delta', text })
    return this.room()
  }

  /**
   * Where too many pieces wait, a promise of the time when there is room again. A turn that goes
   * on by itself never waits.
   */
  room(): Promise<void> | undefined {
    return this.#goesOn ? undefined : this.#queue.room()
  }

  /** Takes back the text so far, if there is any. */
  reset(reason: StreamResetReason): void {
    if (this.#text !== '') this.send({ type: 'reset', reason })
  }

  /**
   * The reader gets the pieces of another stream from now on, whose turn answers this request too: the session and the
   * current step, the text so far, and what comes. The last piece comes from this stream's own
   * `start`, when it resolves.
   *
   * @param source - `undefined` where nobody streams that turn: then there is the last piece only.
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
    // What comes before the last piece of these has the number 0: an ID that never says that nothing was missed.
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

  /** Pieces are numbered anew, and what was sent of another turn does not count. */
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

  /** Adds a piece, and before the first that a reader of earlier pieces could misread, the reset that it needs. */
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

  /** What was sent so far does not count any more. */
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
    // What was streamed is the reply, or it does not count.
    if (this.#text !== '' && this.#text !== response.message) this.#sendNext({ type: 'reset', reason: 'reply' })
    this.#sendNext({ type: 'result', response, ...rest })
  }
}
