/**
 * The events of an engine, and the wall between listeners and turns: a listener that throws or rejects affects neither
 * a turn nor another listener. Payloads are frozen; but for `session:trimmed`, `turn:content`, `model:content` and the
 * error of `turn:error`, they carry no text of a conversation.
 */
import { EventEmitter } from 'eventemitter3'
import { invalidInput } from '../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../errors/error-facts.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { Message, MessagePart } from '../../model/message.js'
import type { LockEvent } from '../../session/lock/lock-request.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { StoreOperation } from '../../session/store-access.js'
import { isPromise } from '../../util/observed-promise.js'

/**
 * Events by name. Those of a session come after the store acknowledged. A payload is named through this type:
 * `EngineEventMap['turn:end']`.
 */
export interface EngineEventMap {
  /** A turn starts a new session, under this ID. Nothing is stored yet, and nothing may ever be. */
  'session:started': SessionEvent & {
    /** A registered name; empty where the flow is not registered. */
    readonly flowName: string
    readonly turnId: string
    /** The ID of the request, where the input has one. */
    readonly requestId?: string
    /** The owner that the request names; absent where it names none. */
    readonly owner?: string
  }
  'session:created': TurnEvent
  'session:restored': TurnEvent
  'session:saved': TurnEvent
  'session:completed': TurnEvent
  'session:aborted': TurnEvent & { readonly code: FlowErrorCode }
  'session:conflict': TurnEvent
  /** The turn failed, and the session goes on as it was before it. */
  'turn:rolled-back': TurnEvent & { readonly code: FlowErrorCode }
  /**
   * The turn was stored, and these oldest entries are no longer part of the session: a limit or a `slidingWindow`
   * removed them. It is emitted at most once for each, so an archive of record reads the document. It carries texts and
   * bytes of the conversation.
   */
  'session:trimmed': TurnEvent & {
    readonly history: SessionDocument['history']
    /** By namespace. */
    readonly memory: Readonly<Record<string, SessionDocument['flow']['memory'][string]['messages']>>
    readonly attachments: NonNullable<SessionDocument['attachments']>
  }
  'session:deleted': SessionEvent & {
    readonly requestId?: string
    /** To whom the session belonged; absent where it had no owner, or none that could be read. */
    readonly owner?: string
  }
  'session:evicted': {
    readonly sessionId: string
    /** Milliseconds since the epoch. */
    readonly at: number
  }
  /**
   * Somebody asked for a session of another owner, and was answered as for an unknown ID. A run, streamed or not, has
   * `flowName` and `turnId`, unless its input was refused.
   */
  'session:foreign': SessionEvent & {
    readonly operation: 'run' | 'delete' | 'cancel' | 'get'
    /** The owner that the request names; absent where it names none. */
    readonly askedBy?: string
    /** To whom the session belongs; absent where it has no owner, or none that can be read. */
    readonly owner?: string
    readonly flowName?: string
    readonly turnId?: string
    /** The ID of the request, where it has one. */
    readonly requestId?: string
  }
  /**
   * The HTTP adapter refused a request: `authorize` answered with a `Response`, `authorize` or `authorizeFlow` threw or
   * gave an answer that is not valid (`error`), no principal was named although one is required, or the caller may not
   * run the flow. The cause of an `error` is passed to the adapter's `onError`.
   */
  'auth:refused': {
    /** Milliseconds since the epoch. */
    readonly at: number
    readonly requestId: string
    readonly route: 'run' | 'flows' | 'end' | 'cancel' | 'session' | 'openapi.json'
    readonly reason: 'response' | 'error' | 'principal' | 'flow'
    /** The HTTP status of the reply. */
    readonly status: number
    /** The principal, for the reason `flow`; absent where `authorize` named none. */
    readonly owner?: string
    /** The registered name, for the reason `flow`. */
    readonly flowName?: string
  }
  /** A save took effect, but reached fewer replicas than wanted, or an unknown number of them (counted as 0). */
  'session:under-replicated': SessionEvent & { readonly replicas: number; readonly wanted: number }
  /**
   * An operation of the store has settled: a write with its read-backs and repetitions.
   * `sessionId` is empty for a `list`.
   */
  'store:end': SessionEvent & {
    readonly operation: StoreOperation['operation']
    readonly durationMs: number
    readonly success: boolean
    readonly code?: FlowErrorCode
    /** Of the turn that it is part of: for its loads and writes. Absent elsewhere. */
    readonly turnId?: string
  }
  /**
   * A request took the session's lock from a turn, a delete or a summary that had not settled long after its deadline:
   * the runtime dropped it. What lost the lock can write no more.
   */
  'lock:taken': SessionEvent & {
    readonly holder: LockEvent['holder']
    /** Of a turn: as in its events. */
    readonly turnId?: string
  }
  /** The turn has its session's lock. `sessionId` is the one asked for; empty if a new session was. */
  'turn:start': TurnEvent & {
    /**
     * How long it waited for the lock, in milliseconds, with an idempotency key also for the look at the session;
     * absent if it did not wait.
     */
    readonly waitedMs?: number
  }
  /**
   * The turn was stored, with this entry of `history`; `undefined` where a limit removed it at once. **It
   * has what people said.**
   */
  'turn:content': TurnEvent & { readonly entry: SessionDocument['history'][number] | undefined }
  /** The turn has ended, in success or failure. `durationMs` counts from `turn:start`. */
  'turn:end': TurnEvent & { readonly durationMs: number; readonly success: boolean; readonly completed: boolean }
  /**
   * The turn failed. `error` is what `execute` returns, for the log: it may hold what a provider or a store threw as
   * its `cause`. With the option `mask`: a `FlowError` of the same `code` with masked texts, and the text of its
   * cause in place of the cause.
   */
  'turn:error': TurnEvent & { readonly code: FlowErrorCode; readonly error: AnyFlowError }
  /** The turn waits for earlier ones; `queued` of them were waiting already. */
  'turn:queued': TurnEvent & { readonly queued: number }
  /**
   * The turn ended before its `turn:start`, and has no `turn:end`: it was refused, or its wait for the lock ended
   * without it. Not emitted for input that cannot be used, nor for a request that is answered
   * with the outcome of another.
   */
  'turn:refused': TurnEvent & {
    readonly code: FlowErrorCode
    /** How long it waited for the lock, in milliseconds. */
    readonly waitedMs: number
  }
  /** A newer turn took the place of this one, which waited or was under way (`TURN_SUPERSEDED`). */
  'turn:superseded': TurnEvent & { readonly byTurnId: string }
  /**
   * A request with an idempotency key was answered with the outcome of an earlier one, and nothing was run. `turnId` is
   * that of the turn which ran, empty where a receipt does not have it; `joined`: whether it was still under way.
   */
  'turn:replayed': TurnEvent & { readonly joined: boolean }
  /** `turn.once` found that the work of this name was begun before, and that its outcome is unknown. */
  'effect:uncertain': TurnEvent & {
    readonly effect: string
    /** How often the work has begun, this time included. */
    readonly attempt: number
    /** When it began first: ISO 8601, UTC. */
    readonly begunAt: string
  }
  /** The turn goes on in the step in which the session is. */
  'step:resume': TurnEvent & { readonly step: string }
  'step:enter': TurnEvent & { readonly step: string }
  'step:exit': StepEvent
  /** An attempt at a call begins. A call that is tried again keeps its number. */
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
    /** What the attempt cost, where the model has prices, in their unit. */
    readonly cost?: number
    /** Of a failed attempt: what the turn fails with where no other attempt succeeds. */
    readonly code?: FlowErrorCode
  }
  /**
   * What an attempt at a model was asked and what it answered, directly before its `model:end`. **It has what people
   * said.** Not emitted by an engine with the option `mask`.
   */
  'model:content': EngineEventMap['model:start'] & {
    readonly system: string | undefined
    readonly messages: readonly Message[]
    /** Empty where the attempt failed. */
    readonly answer: readonly MessagePart[]
  }
  /**
   * The model is asked once more: the attempt failed with a transient error, the answer was empty or did not have the
   * form of `output`, or `onReply` asked for another. `delayMs`: how long the engine waits before it.
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
  /** A provider failed too often: none of its models is called for some time. */
  'circuit:opened': {
    readonly provider: string
    /** Milliseconds since the epoch. */
    readonly at: number
  }
  /** A provider whose circuit was open answered. */
  'circuit:closed': EngineEventMap['circuit:opened']
  /**
   * A memory was cut down. `durationMs` counts from the end of the turn; 0 for a window, which
   * goes with the turn's commit.
   */
  'memory:compacted': TurnEvent & {
    readonly namespace: string
    /** Messages that were taken out. */
    readonly removed: number
    /** Messages that are left, a summary among them. */
    readonly kept: number
    readonly durationMs: number
  }
  /**
   * A memory was to be summed up, and stayed as it was: the summary failed, or the session has changed meanwhile
   * (`SESSION_CONFLICT`). The engine tries again when the memory has grown further.
   */
  'memory:compaction-failed': TurnEvent & { readonly namespace: string; readonly code: FlowErrorCode }
  'tool:start': StepEvent & { readonly tool: string; readonly toolCallId: string }
  'tool:end': EngineEventMap['tool:start'] & {
    readonly durationMs: number
    readonly success: boolean
    /** Of a call that failed. `TOOL_ERROR` where the model gets it as the result, and the turn goes on. */
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
 * What every event of a session has.
 *
 * @inline
 */
type SessionEvent = EngineEventMap['session:evicted']

/**
 * What every event of a turn has.
 *
 * @inline
 */
type TurnEvent = EngineEventMap['session:started']

/**
 * What every event of a step has.
 *
 * @inline
 */
type StepEvent = EngineEventMap['step:enter']

/** The name of an event. */
export type EngineEventName = keyof EngineEventMap

/** What `engine.on` takes. The engine does not wait for what it returns. */
export type EngineListener<Name extends EngineEventName> = (payload: Readonly<EngineEventMap[Name]>) => unknown

type AnyListener = (payload: never) => unknown

/** What the emitter calls in place of a listener: it never throws. */
type Guard = (payload: unknown, name: EngineEventName) => void

/** The events of one engine. */
export class EngineEvents {
  readonly #emitter = new EventEmitter<Record<EngineEventName, Guard>>()
  /** One for each listener, whatever it listens to, so that `off` finds it. */
  readonly #guards = new WeakMap<AnyListener, Guard>()
  readonly #onListenerError: (error: unknown, event: string) => void

  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.#onListenerError = onListenerError
  }

  /** Whether an event has listeners: a payload that nobody gets need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  /** Calls those that listen now; a listener that is added or removed meanwhile does not change this round. */
  emit<Name extends EngineEventName>(name: Name, payload: EngineEventMap[Name]): void {
    if (this.hasListeners(name)) this.#emitter.emit(name, Object.freeze(payload), name)
  }

  /** Adds a listener; in place of itself, where it listens to the event already. */
  on<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    const guard = this.#guardOf(name, listener)
    this.#emitter.off(name, guard).on(name, guard)
  }

  /** Adds a listener for the next event alone; in place of itself, where it listens to the event already. */
  once<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    const guard = this.#guardOf(name, listener)
    this.#emitter.off(name, guard).once(name, guard)
  }

  off(name: EngineEventName, listener: AnyListener): void {
    const guard = this.#guards.get(listener)
    // Without a function the emitter would remove every listener of the event.
    if (guard !== undefined) this.#emitter.off(name, guard)
  }

  #guardOf(name: EngineEventName, listener: AnyListener): Guard {
    if (typeof listener !== 'function') throw invalidInput(`A listener of '${name}' must be a function.`)
    let guard = this.#guards.get(listener)
    if (guard === undefined) {
      guard = (payload, event) => this.callListener(listener, payload, event)
      this.#guards.set(listener, guard)
    }
    return guard
  }

  /** Calls a function of the application. What it throws or rejects with is passed to `onListenerError`. */
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
    // An error of the report itself has nowhere to go.
    report().catch(() => undefined)
  }
}
