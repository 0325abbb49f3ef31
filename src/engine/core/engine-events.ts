/**
 * The events of an engine. A listener that throws or rejects affects neither a turn nor another listener. Payloads are
 * frozen. They contain no text of a conversation, except `session:trimmed`, `turn:content`, `model:content` and the
 * error of `turn:error`.
 */
import { invalidInput } from '../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../errors/error-facts.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { Message, MessagePart } from '../../model/message.js'
import type { LockEvent } from '../../session/lock/lock-request.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { StoreOperation } from '../../session/store-access.js'
import { isPromise } from '../../util/observed-promise.js'

/**
 * Events by name. Events about a session are emitted after the store acknowledged the change. Use this type for
 * payloads: `EngineEventMap['turn:end']`.
 */
export interface EngineEventMap {
  /** A turn starts a new session, under this ID. Nothing is stored yet, and nothing may ever be. */
  'session:started': SessionEvent & {
    /** A registered name; empty if the flow is not registered. */
    readonly flowName: string
    readonly turnId: string
    /** The ID of the request, if the input has one. */
    readonly requestId?: string
    /** The owner named by the request; absent if it names none. */
    readonly owner?: string
  }
  'session:created': TurnEvent
  'session:restored': TurnEvent
  'session:saved': TurnEvent
  'session:completed': TurnEvent
  'session:aborted': TurnEvent & { readonly code: FlowErrorCode }
  'session:conflict': TurnEvent
  /** The turn failed, and the session continues from its state before the turn. */
  'turn:rolled-back': TurnEvent & { readonly code: FlowErrorCode }
  /**
   * The turn was stored, and a limit or a `slidingWindow` removed these oldest entries from the session. Emitted at
   * most once for each entry, so an archive of record must read the document instead. Contains texts and bytes of the
   * conversation.
   */
  'session:trimmed': TurnEvent & {
    readonly history: SessionDocument['history']
    /** By namespace. */
    readonly memory: Readonly<Record<string, SessionDocument['flow']['memory'][string]['messages']>>
    readonly attachments: NonNullable<SessionDocument['attachments']>
  }
  'session:deleted': SessionEvent & {
    readonly requestId?: string
    /** The session's owner; absent if it had none, or if it could not be read. */
    readonly owner?: string
  }
  'session:evicted': {
    readonly sessionId: string
    /** Milliseconds since the epoch. */
    readonly at: number
  }
  /**
   * A caller asked for another owner's session, and got the same answer as for an unknown ID. For a run, streamed or
   * not, `flowName` and `turnId` are present unless the input was refused.
   */
  'session:foreign': SessionEvent & {
    readonly operation: 'run' | 'delete' | 'cancel' | 'get'
    /** The owner named by the request; absent if it names none. */
    readonly askedBy?: string
    /** The session's owner; absent if it has none, or if it cannot be read. */
    readonly owner?: string
    readonly flowName?: string
    readonly turnId?: string
    /** The ID of the request, if it has one. */
    readonly requestId?: string
  }
  /**
   * A stored session cannot be read: a text cannot be decrypted, belongs to another place, or is no part of a session.
   * The document does not change. It is also logged at level `error`.
   */
  'session:unreadable': SessionEvent & {
    /** What is wrong, without any stored text. */
    readonly problem: string
  }
  /**
   * The HTTP adapter refused a request: `authorize` returned a `Response`, `authorize` or `authorizeFlow` threw or
   * returned an invalid answer (`error`), a required principal was missing, or the caller may not run the flow. The
   * adapter's `onError` receives the cause of an `error`.
   */
  'auth:refused': {
    /** Milliseconds since the epoch. */
    readonly at: number
    readonly requestId: string
    readonly route: 'run' | 'flows' | 'end' | 'cancel' | 'session' | 'openapi.json'
    readonly reason: 'response' | 'error' | 'principal' | 'flow'
    /** The HTTP status of the reply. */
    readonly status: number
    /** The principal, for the reason `flow`; absent if `authorize` named none. */
    readonly owner?: string
    /** The registered name, for the reason `flow`. */
    readonly flowName?: string
  }
  /** A save took effect, but reached fewer replicas than wanted, or an unknown number of them (counted as 0). */
  'session:under-replicated': SessionEvent & { readonly replicas: number; readonly wanted: number }
  /**
   * An operation of the store has settled. A write includes its read-backs and retries. `sessionId` is empty for a
   * `list`.
   */
  'store:end': SessionEvent & {
    readonly operation: StoreOperation['operation']
    readonly durationMs: number
    readonly success: boolean
    readonly code?: FlowErrorCode
    /** The ID of the turn, for a turn's loads and writes; otherwise absent. */
    readonly turnId?: string
  }
  /**
   * A request took the session's lock from a turn, a delete or a summary that was still unsettled long after its
   * deadline, because the runtime dropped it. The former holder can no longer write.
   */
  'lock:taken': SessionEvent & {
    readonly holder: LockEvent['holder']
    /** For a turn, the same as in its events. */
    readonly turnId?: string
  }
  /** The turn has its session's lock. `sessionId` is the requested one; empty for a new session. */
  'turn:start': TurnEvent & {
    /**
     * How long it waited for the lock, in milliseconds. With an idempotency key this includes the time to look for an
     * earlier outcome. Absent if it did not wait.
     */
    readonly waitedMs?: number
    /** The name of the outside event that it takes. Absent for a message, and for the user's own event: a client chose that. */
    readonly event?: string
  }
  /**
   * The turn was stored with this entry of `history`; `undefined` if a limit removed it at once. **Contains texts of
   * the conversation.**
   */
  'turn:content': TurnEvent & { readonly entry: SessionDocument['history'][number] | undefined }
  /** The turn has ended, successfully or not. `durationMs` counts from `turn:start`. */
  'turn:end': TurnEvent & { readonly durationMs: number; readonly success: boolean; readonly completed: boolean }
  /**
   * The turn failed. `error` is the error that `execute` returns, for logs: its `cause` may be an error of a provider
   * or a store. With the option `mask` it is a `FlowError` with the same `code` and masked texts, and with the text of
   * its cause instead of the cause.
   */
  'turn:error': TurnEvent & { readonly code: FlowErrorCode; readonly error: AnyFlowError }
  /** The turn waits for earlier ones; `queued` of them were already waiting. */
  'turn:queued': TurnEvent & { readonly queued: number }
  /**
   * The turn ended before its `turn:start`, so it has no `turn:end`: it was refused, or it stopped waiting for the
   * lock. Not emitted for invalid input, nor for a request that gets the outcome of another.
   */
  'turn:refused': TurnEvent & {
    readonly code: FlowErrorCode
    /** How long it waited for the lock, in milliseconds. */
    readonly waitedMs: number
  }
  /** A newer turn superseded this one, which was waiting or running (`TURN_SUPERSEDED`). */
  'turn:superseded': TurnEvent & { readonly byTurnId: string }
  /**
   * A request with an idempotency key got the outcome of an earlier one, and no turn ran. `turnId` names the turn that
   * ran; empty if the receipt does not have it. `joined`: whether that turn was still running.
   */
  'turn:replayed': TurnEvent & { readonly joined: boolean }
  /** `turn.once` found that the work of this name was started before and its outcome is unknown. */
  'effect:uncertain': TurnEvent & {
    readonly effect: string
    /** How often the work was started, including this time. */
    readonly attempt: number
    /** When it was first started: ISO 8601, UTC. */
    readonly begunAt: string
  }
  /** The turn continues in the session's current step. */
  'step:resume': TurnEvent & { readonly step: string }
  'step:enter': TurnEvent & { readonly step: string }
  'step:exit': StepEvent
  /** An attempt at a call begins. A retried call keeps its number. */
  'model:start': StepEvent & {
    readonly provider: string
    readonly model: string
    readonly callNumber: number
    readonly attempt: number
  }
  'model:end': EngineEventMap['model:start'] & {
    readonly durationMs: number
    readonly success: boolean
    readonly inputTokens: number
    readonly outputTokens: number
    /** As in `TokenUsage`. */
    readonly cachedInputTokens?: number
    /** As in `TokenUsage`. */
    readonly reasoningTokens?: number
    /** The cost of the attempt, in the unit of the model's prices, if it has prices. */
    readonly cost?: number
    /** For a failed attempt: the code with which the turn fails if no other attempt succeeds. */
    readonly code?: FlowErrorCode
  }
  /**
   * The request and the answer of a model attempt, directly before its `model:end`. **Contains texts of the
   * conversation.** Not emitted by an engine with the option `mask`.
   */
  'model:content': EngineEventMap['model:start'] & {
    readonly system: string | undefined
    readonly messages: readonly Message[]
    /** Empty if the attempt failed. */
    readonly answer: readonly MessagePart[]
  }
  /**
   * The model is asked again: the attempt failed with a transient error, the answer was empty or did not fit `output`,
   * or `onReply` asked for another answer. `delayMs`: how long the engine waits before the next attempt.
   */
  'model:retry': StepEvent & {
    readonly provider: string
    readonly model: string
    readonly callNumber: number
    readonly reason: 'failure' | 'empty' | 'output' | 'reply'
    readonly delayMs: number
  }
  /** A model failed for good, and the next one of the list is asked. */
  'model:fallback': StepEvent & {
    readonly provider: string
    readonly model: string
    readonly toProvider: string
    readonly toModel: string
  }
  /** A provider failed too often, so its models are not called for some time. */
  'circuit:opened': {
    readonly provider: string
    /** Milliseconds since the epoch. */
    readonly at: number
  }
  /** A provider whose circuit was open answered. */
  'circuit:closed': EngineEventMap['circuit:opened']
  /**
   * A memory was shortened. `durationMs` counts from the end of the turn; 0 for a window, which is part of the turn's
   * commit.
   */
  'memory:compacted': TurnEvent & {
    readonly namespace: string
    /** The number of removed messages. */
    readonly removed: number
    /** The number of remaining messages, a summary included. */
    readonly kept: number
    readonly durationMs: number
  }
  /**
   * A summary failed, or the session changed meanwhile (`SESSION_CONFLICT`), so the memory stayed as it was. The engine
   * tries again when the memory has grown further.
   */
  'memory:compaction-failed': TurnEvent & { readonly namespace: string; readonly code: FlowErrorCode }
  'tool:start': StepEvent & { readonly tool: string; readonly toolCallId: string }
  'tool:end': EngineEventMap['tool:start'] & {
    readonly durationMs: number
    readonly success: boolean
    /**
     * The error code of a failed call. With `TOOL_ERROR` the model gets the error as the result, and the turn goes on.
     */
    readonly code?: FlowErrorCode
  }
  /** A model called a tool that the step does not offer. The model gets an error as the result. */
  'tool:unknown': StepEvent & {
    /** The name as it is stored: at most 64 letters, digits, `_` and `-`. */
    readonly tool: string
    readonly toolCallId: string
  }
}

/**
 * The fields of every event about a session.
 *
 * @inline
 */
type SessionEvent = EngineEventMap['session:evicted']

/**
 * The fields of every event about a turn.
 *
 * @inline
 */
type TurnEvent = EngineEventMap['session:started']

/**
 * The fields of every event about a step.
 *
 * @inline
 */
type StepEvent = EngineEventMap['step:enter']

/** The name of an event. */
export type EngineEventName = keyof EngineEventMap

/** A listener for `engine.on`. The engine does not await its result. */
export type EngineListener<Name extends EngineEventName> = (payload: Readonly<EngineEventMap[Name]>) => unknown

type AnyListener = (payload: never) => unknown

/** The events of one engine. */
export class EngineEvents {
  /** By event: the listeners in their order, and whether each is called only once. */
  readonly #listeners = new Map<EngineEventName, Map<AnyListener, boolean>>()
  readonly #onListenerError: (error: unknown, event: string) => void

  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.#onListenerError = onListenerError
  }

  /** Whether an event has listeners. If not, its payload need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return this.#listeners.has(name)
  }

  /** Calls the current listeners; adding or removing listeners meanwhile does not affect this round. */
  emit<Name extends EngineEventName>(name: Name, payload: EngineEventMap[Name]): void {
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    Object.freeze(payload)
    for (const [listener, isOnce] of [...listeners]) {
      if (isOnce) this.off(name, listener)
      this.callListener(listener, payload, name)
    }
  }

  /** Adds a listener. If it already listens to the event, it is replaced. */
  on<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    this.#add(name, listener, false)
  }

  /** Adds a listener for the next event only. If it already listens to the event, it is replaced. */
  once<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    this.#add(name, listener, true)
  }

  off(name: EngineEventName, listener: AnyListener): void {
    const listeners = this.#listeners.get(name)
    if (listeners?.delete(listener) && listeners.size === 0) this.#listeners.delete(name)
  }

  #add(name: EngineEventName, listener: AnyListener, isOnce: boolean): void {
    if (typeof listener !== 'function') throw invalidInput(`A listener of '${name}' must be a function.`)
    this.off(name, listener)
    const listeners = this.#listeners.get(name) ?? new Map<AnyListener, boolean>()
    this.#listeners.set(name, listeners.set(listener, isOnce))
  }

  /** Calls a function of the application. If it throws or rejects, `onListenerError` receives the error. */
  callListener(listener: AnyListener, payload: unknown, name: string): void {
    try {
      const returned = listener(payload as never)
      if (isPromise(returned)) returned.then(undefined, (error: unknown) => this.#report(error, name))
    } catch (error) {
      this.#report(error, name)
    }
  }

  #report(error: unknown, name: string): void {
    const report = async (): Promise<void> => this.#onListenerError(error, name)
    // There is nowhere to report an error of `onListenerError`.
    report().catch(() => undefined)
  }
}
