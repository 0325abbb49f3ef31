/**
 * What an engine tells its listeners, and the wall between them and the turns: a listener that throws or rejects
 * touches neither a turn nor another listener. Payloads are frozen and carry no text of a conversation.
 */
import { invalidInput } from '../errors/engine-errors.js'
import type { FlowErrorCode } from '../errors/flow-error.js'

/** What every event of a session carries. */
export interface SessionEvent {
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What every event of a turn carries. */
export interface TurnEvent extends SessionEvent {
  readonly flowName: string
  readonly turnId: string
}

/** An event of a step. */
export interface StepEvent extends TurnEvent {
  readonly step: string
}

/** An event of a model call. */
export interface ModelEvent extends StepEvent {
  readonly provider: string
  readonly model: string
}

/** An event of a tool call. */
export interface ToolEvent extends StepEvent {
  readonly tool: string
  readonly toolCallId: string
}

/** An event of a model provider, over all sessions. */
export interface ProviderEvent {
  readonly provider: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Events by name. Those of a session come after the store acknowledged. */
export interface EngineEventMap {
  'session:created': TurnEvent
  'session:restored': TurnEvent
  'session:saved': TurnEvent
  'session:completed': TurnEvent
  'session:aborted': TurnEvent & { readonly code: FlowErrorCode }
  'session:conflict': TurnEvent
  'session:deleted': SessionEvent
  'session:evicted': SessionEvent
  /** A save took effect, but reached fewer replicas than wanted, or an unknown number of them (counted as 0). */
  'session:under-replicated': SessionEvent & { readonly replicas: number; readonly wanted: number }
  /** The turn has its session's lock. `sessionId` is the one asked for; empty where a new session was. */
  'turn:start': TurnEvent
  /** The turn is over, whichever way. `durationMs` counts from `turn:start`. */
  'turn:end': TurnEvent & { readonly durationMs: number; readonly success: boolean; readonly completed: boolean }
  'turn:error': TurnEvent & { readonly code: FlowErrorCode }
  /** The turn waits for earlier ones; `queued` of them were waiting already. */
  'turn:queued': TurnEvent & { readonly queued: number }
  'step:enter': StepEvent
  'step:exit': StepEvent
  /** An attempt at a call begins. A call that is tried again keeps its number. */
  'model:start': ModelEvent & { readonly callNumber: number; readonly attempt: number }
  'model:end': ModelEvent & {
    readonly callNumber: number
    readonly attempt: number
    readonly durationMs: number
    readonly success: boolean
    readonly inputTokens: number
    readonly outputTokens: number
    /** As in `TokenUsage`. */
    readonly cachedInputTokens?: number
    /** As in `TokenUsage`. */
    readonly reasoningTokens?: number
  }
  /**
   * The model is asked once more: the attempt failed in a way that may pass, the answer was not of the form of `output`,
   * or `onReply` wants another. `delayMs`: how long that is waited for.
   */
  'model:retry': ModelEvent & {
    readonly callNumber: number
    readonly reason: 'failure' | 'output' | 'reply'
    readonly delayMs: number
  }
  /** A model failed for good, and the next one of the list is asked. */
  'model:fallback': ModelEvent & { readonly toProvider: string; readonly toModel: string }
  /** A provider failed too often: no model of it is called for some time. */
  'circuit:opened': ProviderEvent
  /** A provider that was left alone answered. */
  'circuit:closed': ProviderEvent
  /** A memory was cut down. `durationMs` counts from the end of the turn; 0 for a window, which goes with the turn's commit. */
  'memory:compacted': TurnEvent & {
    readonly namespace: string
    /** Messages that were taken out. */
    readonly removed: number
    /** Messages that are left, a summary among them. */
    readonly kept: number
    readonly durationMs: number
  }
  /** A memory was to be summed up, and stayed as it was. It is tried again when it has grown on. */
  'memory:compaction-failed': TurnEvent & { readonly namespace: string; readonly code: FlowErrorCode }
  'tool:start': ToolEvent
  'tool:end': ToolEvent & { readonly durationMs: number; readonly success: boolean }
}

/** The name of an event. */
export type EngineEventName = keyof EngineEventMap

/** What `engine.on` takes. What it returns is not waited for. */
export type EngineListener<Name extends EngineEventName> = (payload: Readonly<EngineEventMap[Name]>) => unknown

type AnyListener = (payload: never) => unknown

/** The events of one engine. */
export class EngineEvents {
  /** By event: each listener, and whether it wants only the next one. No entry where nobody listens. */
  readonly #listeners = new Map<string, Map<AnyListener, boolean>>()
  readonly #onListenerError: (error: unknown, event: string) => void

  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.#onListenerError = onListenerError
  }

  /** Whether anybody listens: a payload that nobody gets need not be made. */
  has(name: EngineEventName): boolean {
    return this.#listeners.has(name)
  }

  emit<Name extends EngineEventName>(name: Name, payload: EngineEventMap[Name]): void {
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) return
    Object.freeze(payload)
    // A copy: who is added or taken back by a listener does not change this round.
    for (const [listener, once] of [...listeners]) {
      if (once) this.off(name, listener)
      this.#call(name, listener as EngineListener<Name>, payload)
    }
  }

  on<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    this.#add(name, listener, false)
  }

  once<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    this.#add(name, listener, true)
  }

  off(name: EngineEventName, listener: AnyListener): void {
    const listeners = this.#listeners.get(name)
    if (listeners?.delete(listener) === true && listeners.size === 0) this.#listeners.delete(name)
  }

  #add(name: EngineEventName, listener: AnyListener, once: boolean): void {
    if (typeof listener !== 'function') {
      throw invalidInput(`A listener of '${name}' must be a function.`)
    }
    const listeners = this.#listeners.get(name)
    if (listeners === undefined) this.#listeners.set(name, new Map([[listener, once]]))
    else listeners.set(listener, once)
  }

  #call<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>, payload: EngineEventMap[Name]): void {
    try {
      const returned = listener(payload)
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#report(error, name))
    } catch (error) {
      this.#report(error, name)
    }
  }

  #report(error: unknown, name: string): void {
    const report = async (): Promise<void> => this.#onListenerError(error, name)
    // Where that fails too, there is nobody left to tell.
    report().catch(() => undefined)
  }
}
