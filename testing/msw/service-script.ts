/**
 * What the script of a flow service may say, and how much of it was used. `msw/scripted-service.ts` runs the turns.
 */
import type { ExecuteResult, FlowError, FlowErrorCode, JsonObject } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { count, ExpectationError, show } from '../expectations/expectation-error.js'
import { turnProblem } from './check-turn.js'

/** A request to run a turn, as it reached the service. */
export interface FlowServiceRun {
  /** Counted from 1, over all sessions. */
  readonly number: number
  readonly flowName: string
  /** What the user said. */
  readonly message: string
  /** The session that the page named; empty for a new one. */
  readonly sessionId: string
  /** The `config` of the body; absent if there was none. */
  readonly config?: JsonObject
  /** The `Idempotency-Key` of the request; absent if there was none. */
  readonly idempotencyKey?: string
  /** Set if the page asked for server-sent events. */
  readonly streamed?: true
}

interface Delayed {
  /**
   * Milliseconds before the service answers; in a stream, before the first piece of text. `Infinity`: it never answers.
   * Default 0.
   */
  readonly delayMs?: number
}

interface Streamed extends Delayed {
  /** In a stream: milliseconds between two pieces of text. `Infinity` stops it in the middle. Default 0. */
  readonly chunkDelayMs?: number
}

/** The turn succeeds. */
export interface ServiceReply extends Streamed {
  /**
   * The text for the user, or the whole body if `contentType` makes it a raw reply. In a stream, plain text comes in
   * pieces: the entries of a list, or the words of a text, each with the spaces before it.
   */
  readonly reply: string | readonly string[]
  /** In a stream: a text that comes first, and is discarded by a `reset`. Default: none. */
  readonly takenBack?: string
  /** Whether the session ends with this turn. Default `false`. */
  readonly completed?: boolean
  /** The type of `reply`. Anything but `text/plain` is sent raw, as the real service does. Default `text/plain`. */
  readonly contentType?: string
  /** Set if `reply` is bytes in base64. */
  readonly encoding?: 'base64'
  /** The service has lost the session that the page named, and starts a new one. Default `false`. */
  readonly newSession?: boolean
  /**
   * The service starts a new session in place of the one that the page named, and reports the reason. Default: it does
   * so if the named session is unknown, completed or aborted, which is then the reason.
   */
  readonly restarted?: NonNullable<ExecuteResult['restarted']>
  /**
   * The connection breaks in the middle of the answer: headers arrive, reading the body fails. In a stream, after that
   * many pieces of text (`true`: half of them), and nothing of the turn is kept. Default `false`.
   */
  readonly cutOff?: boolean | number
}

/**
 * The turn fails: a failure envelope, with the status of its code. In a stream, the envelope is its last event, unless
 * the turn fails before its session is open, as with `FLOW_NOT_FOUND`.
 */
export interface FailedServiceTurn extends Streamed {
  /** The code, or the error itself, such as `new LimitExceededError({ ... })`. */
  readonly failure: FlowErrorCode | FlowError
  /** Default: the message of the engine for this code. */
  readonly message?: string
  /**
   * The state of the session. `'running'`: it goes on, a new one from its first step. `'completed'`, `'aborted'`,
   * `'none'`: it has ended, or is gone. `'unknown'`: it is as it was. Default: what an engine that aborts says after
   * this error.
   */
  readonly sessionState?: ExecuteResult['sessionState']
  /** In a stream: the text that comes before the failure, in pieces as in `reply`. Default: none. */
  readonly after?: string | readonly string[]
}

/** The request does not reach the service: `fetch` rejects with a `TypeError`. */
export interface UnreachedServiceTurn extends Delayed {
  readonly networkError: true
}

/** Something between page and service answers, such as a proxy: these bytes, without any header of the service. */
export interface BrokenServiceTurn extends Delayed {
  readonly body: string
  /** Default 200. */
  readonly status?: number
  /** Default `application/json`, whatever the body is. */
  readonly contentType?: string
}

/** One turn of a script; a text is a reply. */
export type ServiceTurn = string | ServiceReply | FailedServiceTurn | UnreachedServiceTurn | BrokenServiceTurn

/** A turn made from the request. `undefined`, and whatever it throws, are mistakes of the test. */
export type ServiceTurnFunction = (run: FlowServiceRun) => ServiceTurn | undefined | Promise<ServiceTurn | undefined>

/** The whole script: turns used in order, or one function for all. */
export type FlowServiceScript = readonly (ServiceTurn | ServiceTurnFunction)[] | ServiceTurnFunction

/** How many turns of a script are shown around the place in question. */
const shownTurns = 5

/** A script, and how much of it was used. */
export class ServiceScriptReader {
  readonly #script: FlowServiceScript
  readonly #mistakes: ExpectationError[] = []
  readonly #runs: readonly FlowServiceRun[]
  #used = 0

  /**
   * @param runs - all requests so far; the caller adds the next ones
   * @throws `InvalidInputError` that names the first turn that is wrong
   */
  constructor(script: FlowServiceScript, runs: readonly FlowServiceRun[]) {
    const turns = typeof script === 'function' ? [] : script
    for (const [index, turn] of turns.entries()) {
      const problem = typeof turn === 'function' ? undefined : turnProblem(turn)
      if (problem === undefined) continue
      throw invalidInput(`flowServiceHandlers: turn ${index + 1} of the script is ${show(turn, 100)}. ${problem}`)
    }
    this.#script = script
    this.#runs = runs
  }

  /**
   * The turn for a request.
   *
   * @throws {@link ExpectationError} if the script has none; `assertDone` throws it again.
   */
  async take(run: FlowServiceRun): Promise<Exclude<ServiceTurn, string>> {
    const entry = typeof this.#script === 'function' ? this.#script : this.#script[this.#used]
    if (entry === undefined) {
      throw this.#mistake(
        `The flow service was asked once more than its script says: ${whereOf(run)}.\n  script: ${this.#shown()}\nAdd a turn to the script, or find out why the page asks again.`,
      )
    }
    if (typeof this.#script !== 'function') this.#used++
    const turn = typeof entry === 'function' ? await this.#call(entry, run) : entry
    if (typeof turn === 'string') return { reply: turn }
    const problem = turnProblem(turn)
    if (problem === undefined) return turn as Exclude<ServiceTurn, string>
    throw this.#mistake(
      `The script of the flow service has no turn for ${whereOf(run)}: its function returned ${show(turn)}.\n${problem}`,
    )
  }

  /**
   * Fails if turns are left, or a request found none.
   *
   * @throws {@link ExpectationError} that lists the turns that are left, and the requests.
   */
  assertDone(): void {
    const [mistake] = this.#mistakes
    if (mistake !== undefined) throw mistake
    const left = typeof this.#script === 'function' ? 0 : this.#script.length - this.#used
    if (left === 0) return
    throw new ExpectationError(
      `The script of the flow service was not used up: ${count(left, 'turn')} of ${this.#script.length} left.\n  script: ${this.#shown()}\n  requests: ${this.#asked()}\nTake out what is not needed, or find out why the page does not ask.`,
    )
  }

  async #call(entry: ServiceTurnFunction, run: FlowServiceRun): Promise<ServiceTurn | undefined> {
    try {
      return await entry(run)
    } catch (cause) {
      throw this.#mistake(
        `The script of the flow service threw for ${whereOf(run)}: ${show(cause)}\nA turn that is meant to fail is { failure: 'FLOW_ERROR' }.`,
        cause,
      )
    }
  }

  #mistake(message: string, cause?: unknown): ExpectationError {
    const error = new ExpectationError(message, { cause })
    this.#mistakes.push(error)
    return error
  }

  #shown(): string {
    if (typeof this.#script === 'function') return 'a function'
    const { length } = this.#script
    if (length === 0) return 'empty'
    const first = Math.max(0, Math.min(this.#used - 2, length - shownTurns))
    const shown = this.#script.slice(first, first + shownTurns).map((turn, index) => {
      const number = first + index + 1
      return `${number}. ${typeof turn === 'function' ? 'a function' : show(turn, 60)}${number <= this.#used ? ' (used)' : ''}`
    })
    const after = length - first - shown.length
    return `${first > 0 ? `(${first} before) ` : ''}${shown.join('  ')}${after > 0 ? ` (${after} more)` : ''}`
  }

  #asked(): string {
    const last = this.#runs.slice(-shownTurns)
    const before = this.#runs.length - last.length
    const shown = last.map(({ number, flowName, message }) => `${number}. ${flowName} ${show(message, 60)}`)
    return shown.length === 0 ? 'none' : `${before > 0 ? `(${before} before) ` : ''}${shown.join('  ')}`
  }
}

function whereOf({ number, flowName, message, sessionId }: FlowServiceRun): string {
  return `request ${number}, flow '${flowName}', ${sessionId === '' ? 'a new session' : `session '${sessionId}'`}, message ${show(message, 60)}`
}
