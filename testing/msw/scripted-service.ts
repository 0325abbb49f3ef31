/**
 * A flow service that follows a script in place of an engine. It keeps the rules that a page notices: which ID a session
 * has, when it ends, which flow it belongs to, one turn at a time. The real adapter handles requests, headers and bodies.
 */
import {
  type Clock,
  type ExecuteResult,
  FlowCodeError,
  type FlowError,
  FlowNotFoundError,
  type FlowRunInput,
  type FlowStream,
  type FlowStreamEvent,
  SessionFlowMismatchError,
  TurnAbortedError,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { breakable, cutOff, type Delivery } from './broken-answer.js'
import { comesInTheTurn, endsSession, errorOf } from './scripted-failure.js'
import type {
  BrokenServiceTurn,
  FailedServiceTurn,
  FlowServiceRun,
  ServiceReply,
  ServiceScriptReader,
} from './service-script.js'
import { piecesOf, ServiceStream } from './service-stream.js'

export interface ScriptedServiceOptions {
  readonly script: ServiceScriptReader
  /** The registered flows. `undefined`: any name is registered. */
  readonly flows: readonly string[] | undefined
  readonly clock: Clock
  /** Makes the answer to a request that did not reach the service. */
  readonly networkError: () => Response
  /** Receives the mistakes of a test. The page gets a failure as well. */
  readonly onMistake: (error: unknown) => void
}

/** The sessions of a scripted service, and its turns. */
export class ScriptedService {
  readonly #options: ScriptedServiceOptions
  /** The flow of each session that can continue. */
  readonly #sessions = new Map<string, string>()
  /** The last turn of each session, for which the next one waits. */
  readonly #tails = new Map<string, Promise<void>>()
  #started = 0

  constructor(options: ScriptedServiceOptions) {
    this.#options = options
  }

  getFlowNames(): string[] {
    return [...(this.#options.flows ?? [])]
  }

  /** Deletes a session; a missing one counts as deleted. */
  end(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  /** Runs a turn after the earlier ones of its session. Never rejects. */
  async execute(run: FlowServiceRun, signal: FlowRunInput['signal'], delivery: Delivery): Promise<ExecuteResult> {
    const stream = this.stream(run, signal, delivery)
    for (;;) {
      const { value } = await stream.next()
      if (value === undefined) return failed(new TurnAbortedError(), run.sessionId, this.#stateOf(run))
      if (value.type !== 'result' && value.type !== 'error') continue
      const { type: _type, ...result } = value
      return result
    }
  }

  /** The same as a stream, if the page asks for one. */
  stream(run: FlowServiceRun, signal: FlowRunInput['signal'], delivery: Delivery): FlowStream {
    const { sessionId } = run
    const earlier = this.#tails.get(sessionId) ?? Promise.resolve()
    const stream = new ServiceStream(signal, (left) => this.#turn(run, earlier, left, delivery))
    if (sessionId !== '') this.#tails.set(sessionId, stream.over)
    return stream
  }

  async *#turn(
    run: FlowServiceRun,
    earlier: Promise<void>,
    left: AbortSignal,
    delivery: Delivery,
  ): AsyncGenerator<FlowStreamEvent, undefined, void> {
    const { script, clock, networkError, onMistake } = this.#options
    const wait = async (ms: number): Promise<void> => {
      await pause(clock, ms, left)
      if (left.aborted) throw new TurnAbortedError()
    }
    await earlier
    try {
      this.#check(run)
      const turn = await script.take(run)
      if ('networkError' in turn || 'body' in turn) {
        await wait(turn.delayMs ?? 0)
        delivery.change = 'body' in turn ? () => bodyOf(turn) : networkError
        throw new TurnAbortedError()
      }
      yield* this.#answer(run, turn, wait, delivery)
    } catch (error) {
      if (!ExpectationError.isInstance(error))
        yield { type: 'error', ...failed(error as FlowError, run.sessionId, this.#stateOf(run)) }
      else {
        onMistake(error)
        yield {
          type: 'error',
          ...failed(new FlowCodeError({ message: error.message }), run.sessionId, this.#stateOf(run)),
        }
      }
    }
    return undefined
  }

  /** A turn whose answer reaches the page, though its connection may break on the way. */
  async *#answer(
    run: FlowServiceRun,
    turn: ServiceReply | FailedServiceTurn,
    wait: (ms: number) => Promise<void>,
    delivery: Delivery,
  ): AsyncGenerator<FlowStreamEvent, void, void> {
    const error = 'failure' in turn ? errorOf(turn, run) : undefined
    let session: string | undefined
    if (run.streamed && (error === undefined || comesInTheTurn(error) || 'after' in turn)) {
      session = this.#sessionOf(run, turn)
      yield* streamed(turn, session, wait, delivery)
    } else {
      await wait(turn.delayMs ?? 0)
      if ('reply' in turn && turn.cutOff !== undefined && turn.cutOff !== false) delivery.change = cutOff
    }
    if (error !== undefined) yield { type: 'error', ...this.#fail(error, run, session) }
    else yield { type: 'result', ...this.#reply(turn as ServiceReply, run, session) }
  }

  #check({ flowName, sessionId }: FlowServiceRun): void {
    const { flows } = this.#options
    if (flows !== undefined && !flows.includes(flowName)) throw new FlowNotFoundError({ flowName })
    const boundFlow = this.#sessions.get(sessionId)
    if (boundFlow !== undefined && boundFlow !== flowName) {
      throw new SessionFlowMismatchError({ sessionId, boundFlow, requestedFlow: flowName })
    }
  }

  #sessionOf({ sessionId }: FlowServiceRun, turn: ServiceReply | FailedServiceTurn): string {
    const isLost = 'reply' in turn && turn.newSession === true
    return this.#sessions.has(sessionId) && !isLost ? sessionId : this.#newId()
  }

  #reply(turn: ServiceReply, run: FlowServiceRun, opened: string | undefined): ExecuteResult {
    const { completed = false, contentType = 'text/plain', encoding, newSession = false } = turn
    const { flowName, sessionId } = run
    const session = opened ?? this.#sessionOf(run, turn)
    if (newSession || completed) this.#sessions.delete(sessionId)
    if (!completed) this.#sessions.set(session, flowName)
    const response = { success: true, completed, message: textOf(turn), session, contentType }
    const sessionState = completed ? 'completed' : 'running'
    return encoding === undefined ? { response, sessionState } : { response, sessionState, encoding }
  }

  #fail(error: FlowError, run: FlowServiceRun, opened: string | undefined): FailedResult {
    const { sessionId } = run
    if (!endsSession(error)) return failed(error, sessionId, this.#stateOf(run))
    // The engine keeps the session of such a turn as aborted, even after a first turn, under the ID it would have had.
    return failed(error, this.#sessions.delete(sessionId) ? sessionId : (opened ?? this.#newId()), 'aborted')
  }

  #stateOf({ sessionId }: FlowServiceRun): ExecuteResult['sessionState'] {
    return this.#sessions.has(sessionId) ? 'running' : 'none'
  }

  #newId(): string {
    this.#started++
    return `session-${this.#started}`
  }
}

type FailedResult = ExecuteResult & { readonly error: FlowError }

function failed(error: FlowError, session: string, sessionState: ExecuteResult['sessionState']): FailedResult {
  return {
    response: { success: false, completed: true, message: error.message, session, contentType: 'text/plain' },
    sessionState,
    error,
  }
}

function textOf({ reply }: ServiceReply): string {
  return typeof reply === 'string' ? reply : reply.join('')
}

/** A turn up to its last event, as a page reads it. */
async function* streamed(
  turn: ServiceReply | FailedServiceTurn,
  session: string,
  wait: (ms: number) => Promise<void>,
  delivery: Delivery,
): AsyncGenerator<FlowStreamEvent, void, void> {
  const { delayMs = 0, chunkDelayMs = 0 } = turn
  const pieces = streamedPieces(turn)
  const cutAfter = 'reply' in turn ? cutPlace(turn, pieces.length) : undefined
  const cut = cutAfter === undefined ? undefined : breakable(delivery)
  yield { type: 'session', session }
  await wait(delayMs)
  if ('reply' in turn && turn.takenBack !== undefined) {
    for (const text of piecesOf(turn.takenBack)) yield { type: 'text-delta', text }
    yield { type: 'reset', reason: 'retry' }
  }
  for (const [index, text] of pieces.slice(0, cutAfter).entries()) {
    if (index > 0) await wait(chunkDelayMs)
    yield { type: 'text-delta', text }
  }
  if (cut === undefined) return
  cut()
  await wait(Number.POSITIVE_INFINITY)
}

/** The pieces that are sent before the end: none for a raw reply, as with the engine. */
function streamedPieces(turn: ServiceReply | FailedServiceTurn): readonly string[] {
  if ('failure' in turn) return piecesOf(turn.after ?? [])
  return (turn.contentType ?? 'text/plain') === 'text/plain' ? piecesOf(turn.reply) : []
}

/** After how many pieces the connection breaks. */
function cutPlace({ cutOff = false }: ServiceReply, pieces: number): number | undefined {
  if (typeof cutOff === 'number') return Math.min(cutOff, pieces)
  return cutOff ? Math.ceil(pieces / 2) : undefined
}

function bodyOf({ body, status = 200, contentType = 'application/json' }: BrokenServiceTurn): Response {
  return new Response(body, { status, headers: { 'Content-Type': contentType } })
}

/** Waits, unless the page disconnects. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = ms === Number.POSITIVE_INFINITY ? () => undefined : clock.setTimer(end, ms)
    function end(): void {
      stop()
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
  })
}
