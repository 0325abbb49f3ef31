/**
 * The options of an engine, and what its operations take and return. Types only: `engine-context.ts`
 * and `input/` check them.
 */
import type { Clock } from '../../config/clock.js'
import type { ConfigReader } from '../../config/config-manager.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { FlowRegistration } from '../../flow/flow-registry.js'
import type { FlowLogger, FlowServices } from '../../flow/turn.js'
import type { FilePart, ImagePart } from '../../model/message.js'
import type { EngineBudgets } from '../../model/model-budget.js'
import type { Model, ModelProviderAdapter } from '../../model/model-provider.js'
import type { SessionStore } from '../../session/session-store.js'
import type { JsonObject } from '../../util/json.js'
import type { EngineLimits } from './engine-limits.js'

/** What {@link FlowEngine} takes. Everything is optional. */
export interface FlowEngineOptions {
  /** Settings; `SESSION_STORE` is read from it. Default: the environment. */
  readonly configManager?: ConfigReader
  /** Flows to register. Default: none. */
  readonly flows?: FlowRegistration
  /** Entries of the model catalog, registered with replace. Default: none. */
  readonly models?: readonly Model[]
  /** Model providers, registered with replace. Default: none. */
  readonly providers?: readonly ModelProviderAdapter[]
  /** The store, in place of the one that `SESSION_STORE` names. */
  readonly sessionStore?: SessionStore
  /** Limits; see {@link EngineLimits} for each default. */
  readonly limits?: Partial<EngineLimits>
  /**
   * How a call of a model is repeated after a transient error. The delay after the n-th attempt is random, up to
   * `baseDelayMs` x 2^(n-1) and at most `maxDelayMs`; longer where the provider asked for more. There is no further
   * attempt where it could not begin before the turn's deadline.
   */
  readonly modelRetry?: {
    /** Attempts at one model, the first one included. Default 3. 1: no call is repeated. */
    readonly maxAttempts?: number
    /** Milliseconds. Default 500. */
    readonly baseDelayMs?: number
    /** Milliseconds. Default 8 000. */
    readonly maxDelayMs?: number
  }
  /** When a provider that keeps failing is not called for some time. */
  readonly circuitBreaker?: {
    /**
     * Transient failures in a row, over all sessions, that open the breaker. Default 10. `Infinity`: it never opens.
     */
    readonly failureThreshold?: number
    /** Milliseconds until one trial call is let through. Default 30 000. */
    readonly resetTimeoutMs?: number
  }
  /**
   * What turns, sessions and owners may spend on models: turns and sessions in addition to the flow's own
   * `budgets()`. Default: not bounded.
   */
  readonly budgets?: EngineBudgets
  /** What flows need from the application: `turn.services`. Never stored. Default: `{}`. */
  readonly services?: FlowServices
  /** What an unknown, completed or aborted session ID does: start a new session, or fail. Default `'new'`. */
  readonly unknownSession?: 'new' | 'reject'
  /**
   * What becomes of a session whose turn failed. `'abort'`: it has ended, and is marked `aborted`. `'rollback'`: it
   * goes on where it was before the turn; the text of the error and what was spent are stored. A flow may decide for
   * itself by its `static onTurnError`. Default `'abort'`.
   */
  readonly onTurnError?: 'abort' | 'rollback'
  /**
   * Which texts of errors reach users, in replies and in the document's `error`. `'full'`: the message of the error.
   * `'flow'`: the messages of `FlowError`s that flow code threw with the code `FLOW_ERROR`, `TOOL_ERROR` or
   * `INVALID_INPUT`, and of refused input (`INVALID_INPUT`); for all else, limits included, a fixed sentence with the
   * ID of the turn. What flow code throws with a code about sessions, turns or engines becomes a `FLOW_ERROR` or
   * `TOOL_ERROR` whose message is not sent. Or a function that returns the text; where it throws, the fixed sentence is
   * sent. An error whose message is not sent is logged, and `execute` and the event `turn:error` have it in
   * any case. Default `'full'`.
   */
  readonly errorText?: 'full' | 'flow' | ((error: AnyFlowError, turn: FailedTurn) => string)
  /**
   * Masks what a turn stores of its conversation: called with each text of the turn before the commit. What it returns
   * is stored in the history and the memories in place of the text; replies and models get the text itself, models in
   * this turn only. `where`: `'message'`, what the user or the application said to the model, and names of attached
   * files; `'reply'`, what the model or the flow said, and texts of errors; `'tool-call'` and `'tool-result'`, each
   * string, key and number of arguments and results. Must be synchronous. Where it throws, or returns something other
   * than a string, the turn fails and nothing of it is stored. State, context and effects are the flow's own to keep
   * clean. Default: texts are stored as they are.
   */
  readonly mask?: (text: string, where: 'message' | 'reply' | 'tool-call' | 'tool-result') => string
  /**
   * What happens to a session that an older version of its flow has stored, where the flow does not migrate it: the
   * turn is refused with `SESSION_FLOW_INVARIANT` and the session stays as it is, or a new session starts.
   * `static outdated` of a flow overrides it. Default `'refuse'`.
   */
  readonly outdated?: 'refuse' | 'restart'
  /**
   * What becomes of a message for a session that has a turn under way. `'queue'`: it waits, first come, first served,
   * up to the limit `maxQueuedTurnsPerSession`. `'reject'`: it is refused with `SESSION_BUSY`. `'interrupt'`: the turn
   * under way ends with `TURN_SUPERSEDED` and leaves nothing but effects, unless its commit has begun, and so do those
   * that waited; then the message runs. Messages that were superseded were not taken: their user may send them again.
   * A flow may decide for itself by its `static busy`; the policy of the flow whose turn is under way counts. Within
   * this process. Default `'queue'`.
   */
  readonly busy?: 'queue' | 'reject' | 'interrupt'
  /** The engine's time. Default: the machine's. */
  readonly clock?: Clock
  /** A number from 0 up to, and without, 1: for the delays between attempts. Default: `Math.random`. */
  readonly random?: () => number
  /**
   * Makes IDs, a new one at each call. An ID of the kind `revision` must not come twice for a session: stores recognise
   * by it what they have read. Default: random base64url from `crypto.getRandomValues`; for a session
   * 24 bytes, 32 characters.
   */
  readonly generateId?: (kind: 'session' | 'revision' | 'turn') => string
  /** Where `turn.log` writes to. Default: `console`. */
  readonly logger?: FlowLogger
  /** Called with what an event listener or a `waitUntil` throws or rejects with. Default: `console.error`. */
  readonly onListenerError?: (error: unknown, event: string) => void
}

/** One user turn. */
export interface FlowRunInput {
  /** The registered name of the flow. */
  readonly flowName: string
  /** What the user said. */
  readonly userMessage: string
  /**
   * Images and files that the user sent along: `turn.attachments`, kept in memory with the message. Base64 of the
   * standard alphabet, or an absolute http or https address without credentials. Default: none.
   */
  readonly attachments?: readonly (ImagePart | FilePart)[]
  /** The session to continue. Default: a new one. */
  readonly sessionId?: string
  /** Stored as `{ config }` in the flow context, on the session's first turn. A plain object of plain JSON. */
  readonly config?: JsonObject
  /**
   * Names this request, so that it can safely be sent again: 16 to 255 visible ASCII characters without a comma, best a
   * UUID that the client makes once for each message. A repeat with the same key gets the recorded reply and runs
   * nothing. The same key with another flow, message, attachments or config is refused with `IDEMPOTENCY_MISMATCH`.
   * Default: every call is a turn.
   */
  readonly idempotencyKey?: string
  /**
   * Names this request in the events of its turn and in logs: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
   * Never stored. Default: none.
   */
  readonly requestId?: string
  /** `true`: the flow is treated as one that is not registered, because this caller may not run it. Default `false`. */
  readonly hideFlow?: boolean
  /** Cancels the turn: it is aborted, and the session stays as it was. */
  readonly signal?: AbortSignal
  /** The principal. It is stored with a new session; another principal's session is treated as unknown. */
  readonly owner?: string
  /** The server's own facts for this turn, laid over `turn.context`. Never stored; may have no key `config`. */
  readonly serverContext?: JsonObject
  /**
   * Receives what this turn leaves behind for after its reply: the writing of a summary. For runtimes that stop when
   * the reply is sent: there it is `(work) => ctx.waitUntil(work)`. Called at most once, before the reply, and only if
   * something is left; and once more, when a streamed turn begins that goes on without its reader
   * (`onDisconnect: 'finish'`), with the turn itself. The promises do not reject. What the function throws is passed to
   * `onListenerError`. Default: the runtime goes on anyway.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** The reply of a turn: exactly these five fields. */
export interface RunResponseType {
  /** Whether the turn ran without an error. */
  readonly success: boolean
  /**
   * Whether the session ended; always `true` on a failure, which does not say so: see
   * {@link ExecuteResult.sessionState}.
   */
  readonly completed: boolean
  /** The text for the user, or the text of the failure. */
  readonly message: string
  /** The session ID; empty where there is none. */
  readonly session: string
  /** The content type of `message`. */
  readonly contentType: string
}

/** What `execute` resolves to. */
export interface ExecuteResult {
  readonly response: RunResponseType
  /**
   * What is stored after this turn under `response.session`, or where that is empty, under the session ID that was
   * sent. `'running'`: send the ID again, also after a failure. `'completed'` and `'aborted'`: the session has ended.
   * `'none'`: nothing is stored under it, or only a session of another owner. `'unknown'`: nobody
   * could be asked; keep the ID.
   */
  readonly sessionState: 'running' | 'completed' | 'aborted' | 'none' | 'unknown'
  /** The failure; absent on success. */
  readonly error?: AnyFlowError
  /** Set where `response.message` is bytes in base64. */
  readonly encoding?: 'base64'
  /**
   * `true` where an earlier call with the same idempotency key had run, or was running, and this one was
   * answered with its outcome.
   */
  readonly replayed?: true
  /**
   * Why a new session answered and not the one that was asked for: that one is unknown (or another owner's), it has
   * ended (`completed`, `aborted`), an older version of the flow has stored it (`outdated`), or the flow's `migrate` or
   * `onRestore` returned `null` (`flow`). Absent where no other session was asked for, and where
   * no new session is stored.
   */
  readonly restarted?: 'unknown' | 'completed' | 'aborted' | 'outdated' | 'flow'
}

/** What `deleteSession` resolves to. */
export interface DeleteResult {
  readonly success: boolean
  readonly session: string
  /** The text of the failure; absent on success. */
  readonly message?: string
}

/** What `executeDelete` resolves to. */
export interface ExecuteDeleteResult {
  readonly result: DeleteResult
  /** The failure; absent on success. */
  readonly error?: AnyFlowError
}

/**
 * The options of `deleteSession`.
 *
 * @inline
 */
export type DeleteOptions = {
  /**
   * The principal: another principal's session is not removed, and success is reported. Default:
   * only one without an owner.
   */
  readonly owner?: string
  /**
   * Whether a session is removed that the store cannot read, although its owner is not known then. Without
   * options it is. Default `false`.
   */
  readonly unreadable?: boolean
  /** As in {@link FlowRunInput}: it is in `session:deleted` and in logs. */
  readonly requestId?: string
}

/**
 * The options of `cancel`.
 *
 * @inline
 */
export type CancelOptions = Pick<DeleteOptions, 'owner' | 'requestId'>

/**
 * The turn or the delete that failed, for {@link FlowEngineOptions.errorText}.
 *
 * @inline
 */
export type FailedTurn = {
  /** Absent where the failure came before the turn, or is that of a delete. */
  readonly turnId?: string
  /** The ID of the request, where it has one. */
  readonly requestId?: string
  /** Empty where there is none. */
  readonly sessionId: string
  /** Empty for a delete, and where no flow of the name that was sent is registered. */
  readonly flowName: string
}

/**
 * See {@link ExecuteResult.sessionState}.
 *
 * @inline
 */
export type SessionState = ExecuteResult['sessionState']

/** What an ID is made for. */
export type IdKind = Parameters<NonNullable<FlowEngineOptions['generateId']>>[0]

/** See {@link FlowEngineOptions.modelRetry}. */
export type ModelRetryOptions = NonNullable<FlowEngineOptions['modelRetry']>
