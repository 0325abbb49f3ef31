/**
 * A flow service that follows a script where a real one has an engine. It keeps the rules that a page meets: which ID a
 * session has, when it ends, which flow it belongs to, one turn at a time. Requests, headers and bodies are the real
 * adapter's business.
 */
import {
  type Clock,
  type ExecuteResult,
  FlowCodeError,
  type FlowError,
  FlowNotFoundError,
  type FlowRunInput,
  SessionFlowMismatchError,
  TurnAbortedError,
} from '../../src/index.js'
import { ExpectationError } from '../expectation-error.js'
import { endsSession, errorOf } from './scripted-failure.js'
import type { FlowServiceRun, ServiceReply, ServiceScriptReader } from './service-script.js'

/** What becomes of the answer on its way to the page. Filled in by the turn. */
export interface Delivery {
  change?: (response: Response) => Response
}

export interface ScriptedServiceOptions {
  readonly script: ServiceScriptReader
  /** The registered flows. `undefined`: any name is one. */
  readonly flows: readonly string[] | undefined
  readonly clock: Clock
  /** Makes the answer of a request that did not reach the service. */
  readonly networkError: () => Response
  /** Is told what a test did wrong, beside the page. */
  readonly onMistake: (error: unknown) => void
}

/** The sessions of a scripted service, and its turns. */
export class ScriptedService {
  readonly #options: ScriptedServiceOptions
  /** The flow of each session that goes on. */
  readonly #sessions = new Map<string, string>()
  /** The last turn of each session, for the next one to wait for. */
  readonly #tails = new Map<string, Promise<unknown>>()
  #started = 0

  constructor(options: ScriptedServiceOptions) {
    this.#options = options
  }

  getFlowNames(): string[] {
    return [...(this.#options.flows ?? [])]
  }

  /** Deletes a session; one that is not there is deleted already. */
  end(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  /** Runs a turn after the earlier ones of its session. Does not reject. */
  execute(run: FlowServiceRun, signal: FlowRunInput['signal'], delivery: Delivery): Promise<ExecuteResult> {
    const { sessionId } = run
    const earlier = sessionId === '' ? undefined : this.#tails.get(sessionId)
    const turn = (earlier ?? Promise.resolve()).then(() => this.#turn(run, signal, delivery))
    if (sessionId !== '') this.#tails.set(sessionId, turn)
    return turn
  }

  async #turn(run: FlowServiceRun, signal: FlowRunInput['signal'], delivery: Delivery): Promise<ExecuteResult> {
    const { script, clock, networkError, onMistake } = this.#options
    try {
      this.#check(run)
      const turn = await script.take(run)
      await pause(clock, turn.delayMs ?? 0, signal)
      if (signal?.aborted === true) throw new TurnAbortedError()
      if ('reply' in turn) {
        if (turn.cutOff === true) delivery.change = cutOff
        return this.#reply(turn, run)
      }
      if ('networkError' in turn) delivery.change = networkError
      if ('body' in turn) {
        const { body, status = 200, contentType = 'application/json' } = turn
        delivery.change = () => new Response(body, { status, headers: { 'Content-Type': contentType } })
      }
      return this.#fail('failure' in turn ? errorOf(turn, run) : new TurnAbortedError(), run)
    } catch (error) {
      if (!ExpectationError.isInstance(error)) return failed(error as FlowError, run.sessionId)
      onMistake(error)
      return failed(new FlowCodeError({ message: error.message }), run.sessionId)
    }
  }

  #check({ flowName, sessionId }: FlowServiceRun): void {
    const { flows } = this.#options
    if (flows !== undefined && !flows.includes(flowName)) throw new FlowNotFoundError({ flowName })
    const boundFlow = this.#sessions.get(sessionId)
    if (boundFlow !== undefined && boundFlow !== flowName) {
      throw new SessionFlowMismatchError({ sessionId, boundFlow, requestedFlow: flowName })
    }
  }

  #reply(turn: ServiceReply, { flowName, sessionId }: FlowServiceRun): ExecuteResult {
    const { reply: message, completed = false, contentType = 'text/plain', encoding, newSession = false } = turn
    const session = this.#sessions.has(sessionId) && !newSession ? sessionId : this.#newId()
    if (newSession || completed) this.#sessions.delete(sessionId)
    if (!completed) this.#sessions.set(session, flowName)
    const response = { success: true, completed, message, session, contentType }
    return encoding === undefined ? { response } : { response, encoding }
  }

  #fail(error: FlowError, { sessionId }: FlowServiceRun): ExecuteResult {
    if (!endsSession(error)) return failed(error, sessionId)
    // The engine keeps the session of such a turn as aborted: also the first one's, under the ID it would have had.
    return failed(error, this.#sessions.delete(sessionId) ? sessionId : this.#newId())
  }

  #newId(): string {
    this.#started++
    return `session-${this.#started}`
  }
}

function failed(error: FlowError, session: string): ExecuteResult {
  return {
    response: { success: false, completed: true, message: error.message, session, contentType: 'text/plain' },
    error,
  }
}

/** Waits, unless the page goes away. */
function pause(clock: Clock, ms: number, signal: FlowRunInput['signal']): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = ms === Number.POSITIVE_INFINITY ? () => undefined : clock.setTimer(end, ms)
    function end(): void {
      stop()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    signal?.addEventListener('abort', end, { once: true })
  })
}

/** The same answer, whose body ends in an error after its first half. */
function cutOff({ body, status, headers }: Response): Response {
  const reader = body?.getReader()
  let isFirst = true
  const broken = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = isFirst ? (await reader?.read())?.value : undefined
      if (chunk === undefined) {
        controller.error(new TypeError('The connection was cut off, as the script says.'))
        return
      }
      isFirst = false
      controller.enqueue(chunk.subarray(0, Math.ceil(chunk.length / 2)))
    },
  })
  return new Response(broken, { status, headers })
}
