/**
 * A flow service that follows a script in place of an engine. It keeps the rules that a page notices: which ID a
 * session has, when it ends, which flow it belongs to, one turn at a time. The real adapter handles requests, headers
 * and bodies.
 */

import { FlowCodeError, FlowNotFoundError, TurnAbortedError } from '../../src/errors/engine-errors.js'
import {
  type Clock,
  type ExecuteResult,
  type FlowError,
  type FlowRunInput,
  type FlowStream,
  type FlowStreamEvent,
  SessionFlowMismatchError,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { breakable, cutOff, type Delivery } from './broken-answer.js'
import { comesInTheTurn, errorOf, stateAfter } from './scripted-failure.js'
import type { ServiceScriptReader } from './service-script.js'
import { piecesOf, ServiceStream } from './service-stream.js'
import type { BrokenServiceTurn, FailedServiceTurn, FlowServiceRun, ServiceReply } from './service-turn.js'

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

/** What a turn of the script needs of its input, besides what is recorded. */
type RunInput = Pick<FlowRunInput, 'signal' | 'hideFlow'>

/** The sessions of a scripted service, and its turns. */
export class ScriptedService {
  readonly #options: ScriptedServiceOptions
  /** The flow of each session that can continue. */
  readonly #sessions = new Map<string, string>()
  /** How many turns each of them has taken. */
  readonly #turns = new Map<string, number>()
  /** How those ended that cannot continue. */
  readonly #ended = new Map<string, 'completed' | 'aborted'>()
  /** The last turn of each session, for which the next one waits. */
  readonly #tails = new Map<string, Promise<void>>()
  #started = 0

  constructor(options: ScriptedServiceOptions) {
    this.#options = options
  }

  getFlowNames(): string[] {
    return [...(this.#options.flows ?? [])]
  }

  /** The flow of a session that can continue; `undefined` if there is none. */
  flowOf(sessionId: string): string | undefined {
    return this.#sessions.get(sessionId)
  }

  /** Deletes a session; a missing one counts as deleted. */
  end(sessionId: string): void {
    this.#sessions.delete(sessionId)
    this.#ended.delete(sessionId)
  }

  /** Runs a turn after the earlier ones of its session. Never rejects. */
  async execute(run: FlowServiceRun, input: RunInput, delivery: Delivery): Promise<ExecuteResult> {
    const stream = this.stream(run, input, delivery)
    for (;;) {
      const { value } = await stream.next()
      if (value === undefined) return failed(new TurnAbortedError(), run.sessionId, this.#stateOf(run))
      if (value.type !== 'result' && value.type !== 'error') continue
      const { type: _type, ...result } = value
      return result
    }
  }

  /** The same as a stream, if the page asks for one. */
  stream(run: FlowServiceRun, { signal, hideFlow }: RunInput, delivery: Delivery): FlowStream {
    const { sessionId } = run
    const found = { run, isHidden: hideFlow === true }
    const earlier = this.#tails.get(sessionId) ?? Promise.resolve()
    const stream = new ServiceStream(`turn-${run.number}`, signal, (left) => this.#turn(found, earlier, left, delivery))
    if (sessionId !== '') this.#tails.set(sessionId, stream.over)
    return stream
  }

  async *#turn(
    { run, isHidden }: { readonly run: FlowServiceRun; readonly isHidden: boolean },
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
      this.#check(run, isHidden)
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
      yield* streamed(turn, { session, ...this.#restarted(run, turn, session) }, wait, delivery)
    } else {
      await wait(turn.delayMs ?? 0)
      if ('reply' in turn && turn.cutOff !== undefined && turn.cutOff !== false) delivery.change = cutOff
    }
    if ('failure' in turn) yield { type: 'error', ...this.#fail(error as FlowError, turn, run, session) }
    else yield { type: 'result', ...this.#reply(turn, run, session) }
  }

  #check({ flowName, sessionId }: FlowServiceRun, isHidden: boolean): void {
    const { flows } = this.#options
    if (isHidden || (flows !== undefined && !flows.includes(flowName))) throw new FlowNotFoundError({ flowName })
    const boundFlow = this.#sessions.get(sessionId)
    if (boundFlow !== undefined && boundFlow !== flowName) {
      throw new SessionFlowMismatchError({ sessionId, boundFlow, requestedFlow: flowName })
    }
  }

  #sessionOf({ sessionId }: FlowServiceRun, turn: ServiceReply | FailedServiceTurn): string {
    const isLost = 'reply' in turn && (turn.newSession === true || turn.restarted !== undefined)
    return this.#sessions.has(sessionId) && !isLost ? sessionId : this.#newId()
  }

  #reply(turn: ServiceReply, run: FlowServiceRun, opened: string | undefined): ExecuteResult {
    const { completed = false, contentType = 'text/plain', encoding, parts } = turn
    const session = opened ?? this.#sessionOf(run, turn)
    const restarted = this.#restarted(run, turn, session)
    if (session !== run.sessionId) this.#sessions.delete(run.sessionId)
    const sessionState = completed ? 'completed' : 'running'
    this.#keep(session, run.flowName, sessionState)
    const number = (this.#turns.get(session) ?? 0) + 1
    this.#turns.set(session, number)
    const response = { success: true, completed, message: textOf(turn), session, contentType }
    return {
      ...{ response, sessionState, ...restarted },
      ...(encoding === undefined ? {} : { encoding }),
      ...(parts === undefined ? {} : { parts, turn: number }),
    }
  }

  #fail(error: FlowError, turn: FailedServiceTurn, run: FlowServiceRun, opened: string | undefined): FailedResult {
    const { sessionId, flowName } = run
    const state = turn.sessionState ?? stateAfter(error)
    if (state === undefined) return failed(error, sessionId, this.#stateOf(run))
    if (state === 'unknown' && sessionId === '') return failed(error, '', turn.sessionState ?? 'none')
    if (state === 'none') this.end(sessionId)
    if (state === 'none' || state === 'unknown') return failed(error, sessionId, state)
    // The engine keeps the session of such a turn, even after a first turn, under the ID it would have had.
    const session = this.#sessions.has(sessionId) ? sessionId : (opened ?? this.#newId())
    const restarted = this.#restarted(run, turn, session)
    this.#keep(session, flowName, state)
    return { ...failed(error, session, state), ...restarted }
  }

  /** The fields of an answer whose session is new although the page named one. */
  #restarted({ sessionId }: FlowServiceRun, turn: ServiceReply | FailedServiceTurn, session: string): Restarted {
    if (sessionId === '' || session === sessionId) return {}
    const reason = 'reply' in turn ? turn.restarted : undefined
    return { restarted: reason ?? this.#ended.get(sessionId) ?? 'unknown' }
  }

  #keep(session: string, flowName: string, state: 'running' | 'completed' | 'aborted'): void {
    if (state === 'running') {
      this.#sessions.set(session, flowName)
      return
    }
    this.#sessions.delete(session)
    this.#ended.set(session, state)
  }

  #stateOf({ sessionId }: FlowServiceRun): ExecuteResult['sessionState'] {
    return this.#sessions.has(sessionId) ? 'running' : (this.#ended.get(sessionId) ?? 'none')
  }

  #newId(): string {
    this.#started++
    return `session-${this.#started}`
  }
}

type FailedResult = ExecuteResult & { readonly error: FlowError }
type Restarted = Pick<ServiceReply, 'restarted'>

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
  opened: { readonly session: string } & Restarted,
  wait: (ms: number) => Promise<void>,
  delivery: Delivery,
): AsyncGenerator<FlowStreamEvent, void, void> {
  const { delayMs = 0, chunkDelayMs = 0 } = turn
  const pieces = streamedPieces(turn)
  const cutAfter = 'reply' in turn ? cutPlace(turn, pieces.length) : undefined
  const cut = cutAfter === undefined ? undefined : breakable(delivery)
  yield { type: 'session', ...opened }
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
