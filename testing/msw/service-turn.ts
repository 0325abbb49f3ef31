/** What the script of a flow service may say. Types only. */
import type { ExecuteResult, FlowError, FlowErrorCode, FlowRunInput, JsonObject, ReplyPart } from '../../src/index.js'

/** A request to run a turn, as it reached the service. */
export interface FlowServiceRun {
  /** Counted from 1, over all sessions. */
  readonly number: number
  readonly flowName: string
  /** What the user said; empty with an `event`. */
  readonly message: string
  /** The user's own event; absent if there was none. */
  readonly event?: NonNullable<FlowRunInput['event']>
  /** The option that the user chose; absent if the page named none. */
  readonly choice?: NonNullable<FlowRunInput['choice']>
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
  /** What comes beside the text, made with `turnkeeper/parts`. Default: nothing. */
  readonly parts?: readonly ReplyPart[]
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
