/**
 * The options of an engine, and the inputs and results of its operations. Types only: `create-context.ts` and `input/`
 * check the values.
 */
import type { Clock } from '../../config/clock.js'
import type { ConfigReader } from '../../config/config-manager.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { FlowRegistration } from '../../flow/flow-registry.js'
import type { FlowLogger, FlowServices } from '../../flow/turn.js'
import type { FilePart, ImagePart } from '../../model/message.js'
import type { EngineBudgets } from '../../model/model-budget.js'
import type { Model, ModelProviderAdapter } from '../../model/model-provider.js'
import type { ReplyPart } from '../../model/reply-part.js'
import type { SessionStore } from '../../session/session-store.js'
import type { JsonObject, JsonValue } from '../../util/json.js'
import type { EngineLimits } from './engine-limits.js'

/** The options of {@link FlowEngine}. All are optional. */
export interface FlowEngineOptions {
  /** Settings; `SESSION_STORE` is read from it. Default: the environment. */
  readonly configManager?: ConfigReader
  /** Flows to register. Default: none. */
  readonly flows?: FlowRegistration
  /** Entries of the model catalog, registered with replace. Default: none. */
  readonly models?: readonly Model[]
  /** Model providers, registered with replace. Default: none. */
  readonly providers?: readonly ModelProviderAdapter[]
  /** The session store. Default: the one that `SESSION_STORE` names. */
  readonly sessionStore?: SessionStore
  /** Limits; see {@link EngineLimits} for each default. */
  readonly limits?: Partial<EngineLimits>
  /**
   * How a model call is retried after a transient error. The delay after the n-th attempt is random, up to
   * `baseDelayMs` x 2^(n-1) and at most `maxDelayMs`; longer if the provider asked for more. There is no further
   * attempt if it could not begin before the turn's deadline.
   */
  readonly modelRetry?: {
    /** Attempts at one model, including the first. Default 3. 1: no retries. */
    readonly maxAttempts?: number
    /** Milliseconds. Default 500. */
    readonly baseDelayMs?: number
    /** Milliseconds. Default 8 000. */
    readonly maxDelayMs?: number
  }
  /** When to stop calling a provider that keeps failing. */
  readonly circuitBreaker?: {
    /**
     * Transient failures in a row, over all sessions, that open the breaker. Default 10. `Infinity`: it never opens.
     */
    readonly failureThreshold?: number
    /** Milliseconds until one trial call is allowed. Default 30 000. */
    readonly resetTimeoutMs?: number
  }
  /**
   * How much turns, sessions and owners may spend on models. For turns and sessions, the flow's own `budgets()` apply
   * as well. Default: unlimited.
   */
  readonly budgets?: EngineBudgets
  /** The application's services for flows: `turn.services`. Never stored. Default: `{}`. */
  readonly services?: FlowServices
  /** Whether an unknown, completed or aborted session ID starts a new session, or fails. Default `'new'`. */
  readonly unknownSession?: 'new' | 'reject'
  /**
   * What happens to a session after a failed turn. `'abort'`: the session ends, marked `aborted`. `'rollback'`: the
   * session continues from its state before the turn; only the error text and the spending are stored. A flow's `static
   * onTurnError` overrides this. Default `'abort'`.
   */
  readonly onTurnError?: 'abort' | 'rollback'
  /**
   * Which error texts reach users, in replies and in the document's `error`. `'full'`: the message of the error.
   * `'flow'`: the messages of `FlowError`s that flow code threw with the code `FLOW_ERROR`, `TOOL_ERROR` or
   * `INVALID_INPUT`, and of refused input (`INVALID_INPUT`); for every other error, limits included, a fixed sentence
   * with the turn ID. If flow code throws an error with a code about sessions, turns or engines, it becomes a
   * `FLOW_ERROR` or `TOOL_ERROR` whose message is not sent. Or a function that returns the text; if it throws, the
   * fixed sentence is sent. An error whose message is not sent is logged; `execute` and the event `turn:error` always
   * have it. The HTTP adapters ask it for the requests that they refuse, too. Default `'full'`.
   */
  readonly errorText?: 'full' | 'flow' | ((error: AnyFlowError, turn: FailedTurn) => string)
  /**
   * Masks the texts that a turn stores: called with each text before the commit. The history and the memories store the
   * returned text instead. Replies get the original text, and so do models, but only in this turn. `where`: `'message'`
   * for texts to the model from the user or the application, and names of attached files; `'reply'` for texts of the
   * model or the flow, and error texts; `'tool-call'` and `'tool-result'` for each string, key and number of arguments
   * and results. Must be synchronous. If it throws, or returns anything but a string, the turn fails and stores
   * nothing. It does not mask state, context and effects; flows must keep those clean. Default: texts are stored
   * unchanged.
   */
  readonly mask?: (text: string, where: 'message' | 'reply' | 'tool-call' | 'tool-result') => string
  /**
   * What happens to a session that was stored by an older version of its flow, if the flow does not migrate it.
   * `'refuse'`: the turn is refused with `SESSION_FLOW_INVARIANT`, and the session stays unchanged. `'restart'`: a new
   * session starts. A flow's `static outdated` overrides this. Default `'refuse'`.
   */
  readonly outdated?: 'refuse' | 'restart'
  /**
   * What happens to a message for a session that has a running turn. `'queue'`: it waits, first come, first served, up
   * to the limit `maxQueuedTurnsPerSession`. `'reject'`: it is refused with `SESSION_BUSY`. `'interrupt'`: the running
   * turn ends with `TURN_SUPERSEDED` and keeps only its effects, unless its commit has begun; waiting turns end the
   * same way; then the message runs. A superseded message was not taken, so its user may send it again. A flow's
   * `static busy` overrides this; the policy of the running turn's flow counts. Applies within this process. Default
   * `'queue'`.
   */
  readonly busy?: 'queue' | 'reject' | 'interrupt'
  /**
   * Has a session woken: `engine.wake({ sessionId })` must be called at `at` (ISO 8601, UTC), once or more often, by any
   * process. Called before a turn with a timer commits; if it rejects, or takes longer than `storeTimeoutMs`, the turn
   * fails with `SCHEDULE_ERROR` and is rolled back. Default: timers of this process if the store is not durable;
   * otherwise a turn that sets a timer fails.
   */
  readonly schedule?: (wake: { readonly sessionId: string; readonly at: string }) => void | Promise<void>
  /** The engine's time. Default: the machine's. */
  readonly clock?: Clock
  /** Returns a number from 0 up to, but not including, 1, for the delays between attempts. Default: `Math.random`. */
  readonly random?: () => number
  /**
   * Makes IDs, a new one at each call. An ID of the kind `revision` must never repeat within a session, because stores
   * use it to detect changes. Default: random base64url from `crypto.getRandomValues`; for a session 24 bytes, 32
   * characters.
   */
  readonly generateId?: (kind: 'session' | 'revision' | 'turn') => string
  /** The logger behind `turn.log`. Default: `console`. */
  readonly logger?: FlowLogger
  /** Receives errors of event listeners and of `waitUntil`. Default: `console.error`. */
  readonly onListenerError?: (error: unknown, event: string) => void
}

/** One user turn. */
export interface FlowRunInput {
  /** The registered name of the flow. */
  readonly flowName: string
  /** The user's message. Empty if there is an {@link FlowRunInput.event}. */
  readonly userMessage: string
  /**
   * The user's own event, for an `event` with `byUser: true`: a form that is submitted, a button. It needs a `sessionId`
   * and never begins a session.
   */
  readonly event?: { readonly name: string; readonly payload?: JsonValue }
  /**
   * The option of a `choices` part that the user chose: its turn, the part's name, and the option's value. Send the
   * option's label as the message. Only the open list of the current step counts: see `Turn.choice`.
   */
  readonly choice?: { readonly turn: number; readonly name: string; readonly value: string }
  /**
   * What happens if the session has completed. `'reject'`: the call fails with `SESSION_ENDED`. Default `'new'`: a new
   * session starts.
   */
  readonly whenEnded?: 'new' | 'reject'
  /**
   * Images and files that the user sent: `turn.attachments`, kept in memory with the message. Base64 in the standard
   * alphabet, or an absolute http or https URL without credentials. Default: none.
   */
  readonly attachments?: readonly (ImagePart | FilePart)[]
  /** The session to continue. Default: a new one. */
  readonly sessionId?: string
  /** Stored as `{ config }` in the flow context, on the session's first turn. A plain object of plain JSON. */
  readonly config?: JsonObject
  /**
   * Makes it safe to send this request again: 16 to 255 visible ASCII characters without a comma, best a UUID that the
   * client makes once for each message. A repeat with the same key gets the recorded reply, and no turn runs. The same
   * key with another flow, message, attachments or config is refused with `IDEMPOTENCY_MISMATCH`. Default: every call
   * is a turn.
   */
  readonly idempotencyKey?: string
  /** The ID of this request in events and logs: 1 to 128 of `A-Z a-z 0-9 . _ : -`. Never stored. Default: none. */
  readonly requestId?: string
  /** `true`: the flow is treated as unregistered, because this caller may not run it. Default `false`. */
  readonly hideFlow?: boolean
  /** Cancels the turn: it is aborted, and the session stays unchanged. */
  readonly signal?: AbortSignal
  /** The principal. It is stored with a new session; another principal's session is treated as unknown. */
  readonly owner?: string
  /** The server's facts for this turn, merged over `turn.context`. Never stored; must not have a key `config`. */
  readonly serverContext?: JsonObject
  /**
   * Keeps the runtime alive for work that outlives the reply: the writing of a summary. Needed if the runtime stops
   * once the reply is sent, usually as `(work) => ctx.waitUntil(work)`. Called at most once, before the reply, and only
   * if there is such work; a streamed turn that continues without its reader (`onDisconnect: 'finish'`) also passes
   * itself when it begins. The promises never reject. If the function throws, `onListenerError` receives the error.
   * Default: none, for runtimes that keep running.
   */
  readonly waitUntil?: (work: Promise<unknown>) => void
}

/** An event for a session, from the application: see `engine.sendEvent`. */
export interface SendEventInput {
  readonly sessionId: string
  /** The name of the event. */
  readonly event: string
  /** Plain JSON, at most `maxConfigBytes`. Default: none. */
  readonly payload?: JsonValue
  /** Must match the session's flow, if it is given. */
  readonly flowName?: string
  /** Must match the session's owner, if it is given. Default: the application's own rights. */
  readonly owner?: string
  /** Who sends it: a name that customers may read. At most 200 characters. */
  readonly by?: string
  /** The sender's ID, for the document and `turn.event`. No route sends it. At most 200 characters. */
  readonly byId?: string
  /** Only this entry of this step may take the event: `turn.step` and `turn.entry`. Default: any that takes it. */
  readonly only?: { readonly step: string; readonly entry: string }
  /** What the sender was asked, for `turn.event`: plain JSON, at most 1 KiB. */
  readonly about?: JsonValue
  /** As in {@link FlowRunInput}: with it, the event can be sent again, also after the session has ended. */
  readonly idempotencyKey?: string
  /** As in {@link FlowRunInput}. */
  readonly requestId?: string
  /** As in {@link FlowRunInput}. */
  readonly signal?: AbortSignal
}

/**
 * The result of `engine.wake`.
 *
 * @inline
 */
export type WakeResult = {
  /** The turns of the timers that were due. If one has an `error`, wake the session again. */
  readonly results: readonly ExecuteResult[]
  /** When the session has to be woken next: ISO 8601, UTC. It is scheduled. Absent if no timer is left. */
  readonly next?: string
}

/** The reply of a turn: exactly these five fields. */
export interface RunResponseType {
  /** Whether the turn ran without an error. */
  readonly success: boolean
  /**
   * Whether the session ended. Always `true` on a failure, even if the session goes on: see
   * {@link ExecuteResult.sessionState}.
   */
  readonly completed: boolean
  /** The text for the user, or the text of the failure. */
  readonly message: string
  /** The session ID; empty if there is none. */
  readonly session: string
  /** The content type of `message`. */
  readonly contentType: string
}

/** The result of `execute`. */
export interface ExecuteResult {
  readonly response: RunResponseType
  /**
   * The state of the session after this turn: of `response.session`, or if that is empty, of the requested ID.
   * `'running'`: send the ID again, even after a failure. `'completed'` and `'aborted'`: the session has ended.
   * `'none'`: nothing is stored under the ID, or only another owner's session. `'unknown'`: the store could not be
   * read; keep the ID.
   */
  readonly sessionState: 'running' | 'completed' | 'aborted' | 'none' | 'unknown'
  /** The failure; absent on success. */
  readonly error?: AnyFlowError
  /** Set if `response.message` is bytes in base64. */
  readonly encoding?: 'base64'
  /** What the reply carries beside its text. Absent if there is nothing. Frozen. */
  readonly parts?: readonly ReplyPart[]
  /** The number of the turn, for `choice` of a later message. Present with `parts`. */
  readonly turn?: number
  /** `true` if this call got the outcome of an earlier or running call with the same idempotency key. */
  readonly replayed?: true
  /**
   * Why a new session was started instead of continuing the requested one: it is unknown or another owner's
   * (`unknown`), it has ended (`completed`, `aborted`), it was stored by an older version of the flow (`outdated`), or
   * the flow's `migrate` or `onRestore` returned `null` (`flow`). Absent if no session was requested, and if no new
   * session is stored.
   */
  readonly restarted?: 'unknown' | 'completed' | 'aborted' | 'outdated' | 'flow'
}

/** The result of `deleteSession`. */
export interface DeleteResult {
  readonly success: boolean
  readonly session: string
  /** The text of the failure; absent on success. */
  readonly message?: string
}

/** The result of `executeDelete`. */
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
   * The principal. Another principal's session is not removed, and the result is a success. Default: removes only a
   * session without an owner.
   */
  readonly owner?: string
  /**
   * Whether to remove a session that the store cannot read, although its owner is then unknown. Without any options it
   * is removed. Default `false`.
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
  /** Absent if the failure came before the turn, or in a delete. */
  readonly turnId?: string
  /** The ID of the request, if it has one. */
  readonly requestId?: string
  /** Empty if there is none. */
  readonly sessionId: string
  /** Empty for a delete, if no flow with the requested name is registered, and before the flow is known. */
  readonly flowName: string
}

/**
 * See `ExecuteResult.sessionState`.
 *
 * @inline
 */
export type SessionState = ExecuteResult['sessionState']

/** The kinds of IDs. */
export type IdKind = Parameters<NonNullable<FlowEngineOptions['generateId']>>[0]

/** See {@link FlowEngineOptions.modelRetry}. */
export type ModelRetryOptions = NonNullable<FlowEngineOptions['modelRetry']>
