/**
 * The life of one turn: who it is, how long it may last, and the moment it is given up. What still runs after that
 * moment is no longer listened to: its results, its errors and its events go nowhere.
 */
import { TurnTimeoutError } from '../../errors/engine-errors.js'
import type { FlowError } from '../../errors/flow-error.js'
import { SessionStoreError } from '../../errors/session-errors.js'
import type { AfterTurnTask } from '../../session/flow-session.js'
import type { EngineContext } from '../engine-context.js'
import type { EngineEventMap, EngineEventName } from '../engine-events.js'
import type { TurnStream } from './turn-stream.js'

/** What a turn adds to the payload of an event, beside what every event of a turn carries. */
type Extra<Name extends EngineEventName> = Omit<EngineEventMap[Name], 'sessionId' | 'flowName' | 'turnId' | 'at'>

/** One turn under way. */
export class TurnControl {
  readonly engine: EngineContext
  readonly turnId: string
  readonly flowName: string
  /** The session's ID as far as it is known: the one asked for, then the one it is stored under. */
  sessionId: string
  /** When it got its session's lock, on the engine's clock; `Infinity` before. */
  startedAt: number = Number.POSITIVE_INFINITY
  /** Called when the turn is given up: ends what it waits for just now, its timers first of all. */
  pending: ((reason: FlowError) => void) | undefined
  /** What is to go on under the session's lock when the turn is answered. */
  afterTurnTask: AfterTurnTask | undefined
  /** Called when the turn has been settled, one way or another. */
  onSettled: (() => void) | undefined
  #controller: AbortController | undefined
  #aborted: FlowError | undefined
  #reject: ((error: FlowError) => void) | undefined
  #over = false
  readonly #stream: TurnStream | undefined
  readonly #held: (() => void)[] = []

  /** @param turnId - Default: a new one. */
  constructor(engine: EngineContext, flowName: string, sessionId: string, stream?: TurnStream, turnId?: string) {
    this.engine = engine
    this.flowName = flowName
    this.sessionId = sessionId
    this.#stream = stream
    this.turnId = turnId ?? engine.generateId('turn')
  }

  /** When the turn is given up at the latest, on the engine's clock. */
  get deadlineAt(): number {
    return this.startedAt + this.engine.limits.turnTimeoutMs
  }

  /** Who reads the turn while it runs; `undefined` where nobody does, or the turn was given up. */
  get stream(): TurnStream | undefined {
    return this.#aborted === undefined ? this.#stream : undefined
  }

  /** Fires when the turn is given up. Made when it is first asked for: most turns never need one. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** Gives the turn up. Only the first call counts. */
  abort(error: FlowError): void {
    if (this.#aborted !== undefined || this.#over) return
    this.#aborted = error
    this.#controller?.abort(error)
    this.pending?.(error)
    this.#reject?.(error)
  }

  /** Gives the turn up because its time is over. */
  expire(): void {
    this.abort(new TurnTimeoutError({ timeoutMs: this.engine.limits.turnTimeoutMs, phase: 'turn' }))
  }

  /** The flow's part is done: from here on the turn can no longer be given up, only fail. */
  finishWork(): void {
    this.#over = true
  }

  /** Keeps a stored session from being evicted until the turn has ended. */
  hold(sessionId: string): void {
    try {
      const release = this.engine.session.access.store.hold?.(sessionId)
      if (release !== undefined) this.#held.push(release)
    } catch (cause) {
      throw new SessionStoreError({ operation: 'load', sessionId, cause })
    }
  }

  /** The turn is settled: lets go of what it held, and tells who waits for it. */
  end(): void {
    for (const release of this.#held) {
      try {
        release()
      } catch {
        // The turn is settled; a store that stumbles here must not change its reply.
      }
    }
    this.onSettled?.()
  }

  /** Runs `work` until it settles or the turn is given up, whichever comes first. */
  race<T>(work: () => Promise<T>): Promise<T> {
    if (this.#aborted !== undefined) return Promise.reject(this.#aborted)
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work().then(resolve, reject)
    })
  }

  /** Stops code that runs on after the turn was given up. To be called after each await. */
  check(): void {
    if (this.#aborted !== undefined) throw this.#aborted
  }

  /** Whether somebody would hear {@link emit}: a payload that nobody gets need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return this.#aborted === undefined && this.engine.events.has(name)
  }

  /** Tells the engine's listeners, unless the turn was given up. */
  emit<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    if (this.#aborted === undefined) this.report(name, extra)
  }

  /** Tells the engine's listeners, in any case: how the turn was settled. */
  report<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    const { events, clock } = this.engine
    if (!events.has(name)) return
    const { sessionId, flowName, turnId } = this
    events.emit(name, { sessionId, flowName, turnId, at: clock.now(), ...extra } as unknown as EngineEventMap[Name])
  }
}
