/** The identity of a turn, and its events. */
import { elapsedMs } from '../../../config/clock.js'
import type { EngineContext } from '../../core/engine-context.js'
import type { EngineEventMap, EngineEventName } from '../../core/engine-events.js'
import type { FailedTurn } from '../../core/engine-options.js'
import type { TurnInput } from '../../core/turn-input.js'
import { TurnWork } from './turn-work.js'

/** The fields that a turn adds to the payload of an event, besides those of every turn event. */
type Extra<Name extends EngineEventName> = Omit<
  EngineEventMap[Name],
  'sessionId' | 'flowName' | 'turnId' | 'requestId' | 'owner' | 'at'
>

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Identifies a turn, and emits its events. */
export class TurnEvents {
  readonly engine: EngineContext
  readonly input: TurnInput
  readonly work: TurnWork
  readonly turnId: string
  /** The registered name; empty if the flow is not registered, so that no event contains a name chosen by a client. */
  flowName: string
  /** The ID of the request; `undefined` if it has none. */
  readonly requestId: string | undefined
  /** The session ID as far as it is known: first the requested one, later the stored one. */
  sessionId: string
  /** The owner named by the request; `undefined` if it names none. */
  readonly owner: string | undefined
  /** When the turn began to wait for the lock, in the clock's monotonic time; `undefined` if it did not wait. */
  queuedAt: number | undefined
  /**
   * Whether {@link reportStart} was called. Before that, a turn with an idempotency key may turn out to be a repeat.
   */
  hasStarted = false

  constructor(engine: EngineContext, input: TurnInput, flowName: string, sessionId: string, turnId: string) {
    this.engine = engine
    this.input = input
    this.work = new TurnWork(engine)
    this.turnId = turnId
    this.flowName = flowName
    this.requestId = input.requestId
    this.sessionId = sessionId
    this.owner = input.owner
  }

  /** The turn's identity for events and logs. */
  get ids(): FailedTurn {
    const { sessionId, flowName, turnId, requestId } = this
    return { sessionId, flowName, turnId, ...(requestId === undefined ? {} : { requestId }) }
  }

  /** Whether the turn takes an event of the application or of the clock, not of the user. */
  get isOfServer(): boolean {
    const { event } = this.input
    return event !== undefined && event.source !== 'user'
  }

  /** How long the turn has waited for the lock. Call it at the end of the wait. */
  get waitedMs(): number {
    return this.queuedAt === undefined ? 0 : elapsedMs(this.engine.clock, this.queuedAt)
  }

  /** Reports the start of the turn: once, and not for a request that gets a recorded outcome. */
  reportStart(): void {
    if (this.hasStarted) return
    this.hasStarted = true
    if (!this.engine.events.hasListeners('turn:start')) return
    const extra: Writable<Extra<'turn:start'>> = {}
    if (this.queuedAt !== undefined) extra.waitedMs = this.waitedMs
    if (this.isOfServer) extra.event = this.input.event?.name as string
    this.report('turn:start', extra)
  }

  /** Whether an event of {@link emit} has a listener. If not, the payload need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return !this.work.isAborted && this.engine.events.hasListeners(name)
  }

  /** Emits an event of the work, unless the turn was aborted. */
  emit<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    if (!this.work.isAborted) this.report(name, extra)
  }

  /** Emits an event even after an abort: for the start and the outcome of the turn. */
  report<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    const { events, clock } = this.engine
    if (!events.hasListeners(name)) return
    const { sessionId, flowName, turnId, requestId, owner } = this
    // Field by field: several spreads in one literal take ten times as long.
    const turn: Writable<EngineEventMap['turn:start']> = { sessionId, flowName, turnId, at: clock.now() }
    if (requestId !== undefined) turn.requestId = requestId
    if (owner !== undefined) turn.owner = owner
    events.emit(name, Object.assign(turn, extra) as unknown as EngineEventMap[Name])
  }
}
