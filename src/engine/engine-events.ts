/**
 * What an engine tells its listeners, and the wall between them and the turns: a listener that throws or rejects
 * touches neither a turn nor another listener. Payloads are frozen and carry no text of a conversation.
 */
import { EventEmitter } from 'eventemitter3'
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
  /** The turn has its session's lock. `sessionId` is the one asked for, or the one a new session will get. */
  'turn:start': TurnEvent
  /** The turn is over, whichever way. `durationMs` counts from `turn:start`. */
  'turn:end': TurnEvent & { readonly durationMs: number; readonly success: boolean; readonly completed: boolean }
  'turn:error': TurnEvent & { readonly code: FlowErrorCode }
  /** The turn waits for earlier ones; `queued` of them were waiting already. */
  'turn:queued': TurnEvent & { readonly queued: number }
  'step:enter': StepEvent
  'step:exit': StepEvent
  'model:start': ModelEvent & { readonly callNumber: number }
  'model:end': ModelEvent & {
    readonly callNumber: number
    readonly durationMs: number
    readonly success: boolean
    readonly inputTokens: number
    readonly outputTokens: number
  }
  /** The step's `onReply` asked for another answer. */
  'model:retry': ModelEvent & { readonly callNumber: number }
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
  readonly #emitter = new EventEmitter()
  readonly #onListenerError: (error: unknown, event: string) => void
  /** The wrapped form of each listener, by event. */
  readonly #wrapped = new Map<string, Map<AnyListener, (payload: unknown) => void>>()

  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.#onListenerError = onListenerError
  }

  /** Whether anybody listens: a payload that nobody gets need not be made. */
  has(name: EngineEventName): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  emit<Name extends EngineEventName>(name: Name, payload: EngineEventMap[Name]): void {
    this.#emitter.emit(name, Object.freeze(payload))
  }

  on<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    if (this.#find(name, listener) === undefined) this.#emitter.on(name, this.#wrap(name, listener, false))
  }

  once<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    if (this.#find(name, listener) === undefined) this.#emitter.on(name, this.#wrap(name, listener, true))
  }

  off<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): void {
    const wrapped = this.#find(name, listener)
    if (wrapped === undefined) return
    this.#wrapped.get(name)?.delete(listener)
    this.#emitter.off(name, wrapped)
  }

  #find(name: string, listener: AnyListener): ((payload: unknown) => void) | undefined {
    return this.#wrapped.get(name)?.get(listener)
  }

  #wrap<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>, once: boolean): (payload: unknown) => void {
    const wrapped = (payload: unknown): void => {
      if (once) this.off(name, listener)
      try {
        const returned = listener(payload as EngineEventMap[Name])
        if (returned instanceof Promise) returned.catch((error: unknown) => this.#report(error, name))
      } catch (error) {
        this.#report(error, name)
      }
    }
    let ofName = this.#wrapped.get(name)
    if (ofName === undefined) this.#wrapped.set(name, (ofName = new Map()))
    ofName.set(listener, wrapped)
    return wrapped
  }

  #report(error: unknown, name: string): void {
    try {
      this.#onListenerError(error, name)
    } catch {
      // There is nobody left to tell.
    }
  }
}
