/** Who a turn is, and its events. */
import { elapsedMs } from '../../../config/clock.js'
import type { EngineContext } from '../../core/engine-context.js'
import type { EngineEventMap, EngineEventName } from '../../core/engine-events.js'
import type { FailedTurn } from '../../core/engine-options.js'
import type { TurnInput } from '../../core/turn-input.js'
import { TurnWork } from './turn-work.js'

/** What a turn adds to the payload of an event, besides what every event of a turn carries. */
type Extra<Name extends EngineEventName> = Omit<
  EngineEventMap[Name],
  'sessionId' | 'flowName' | 'turnId' | 'requestId' | 'owner' | 'at'
>

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** What names a turn, and emits its events. */
export class TurnEvents {
  readonly engine: EngineContext
  readonly work: TurnWork
  readonly turnId: string
  /**
   * The registered name; empty where the flow is not registered, so that no event carries a name
   * which only a client knows.
   */
  flowName: string
  /** The ID of the request; `undefined` where it has none. */
  readonly requestId: string | undefined
  /** The session's ID as far as it is known: the one that was asked for, then the one under which it is stored. */
  sessionId: string
  /** The owner that the request names; `undefined` where it names none. */
  readonly owner: string | undefined
  /** When the turn began to wait for the lock, in the clock's monotonic time; `undefined` where it did not wait. */
  queuedAt: number | undefined
  /**
   * Whether {@link reportStart} was called. Before that, a turn with an idempotency key may turn out to be a repeat.
   */
  hasStarted = false

  constructor(
    engine: EngineContext,
    { requestId, owner }: Pick<TurnInput, 'requestId' | 'owner'>,
    flowName: string,
    sessionId: string,
    turnId: string,
  ) {
    this.engine = engine
    this.work = new TurnWork(engine)
    this.turnId = turnId
    this.flowName = flowName
    this.requestId = requestId
    this.sessionId = sessionId
    this.owner = owner
  }

  /** What names the turn in events and logs. */
  get ids(): FailedTurn {
    const { sessionId, flowName, turnId, requestId } = this
    return { sessionId, flowName, turnId, ...(requestId === undefined ? {} : { requestId }) }
  }

  /** How long the turn has waited for the lock until now, at the end of its wait. */
  get waitedMs(): number {
    return this.queuedAt === undefined ? 0 : elapsedMs(this.engine.clock, this.queuedAt)
  }

  /** Reports that the turn starts: once, and not for a request that is answered with a recorded outcome. */
  reportStart(): void {
    if (this.hasStarted) return
    this.hasStarted = true
    this.report('turn:start', this.queuedAt === undefined ? {} : { waitedMs: this.waitedMs })
  }

  /** Whether anybody receives what {@link emit} emits. Where nobody does, the payload need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return !this.work.isAborted && this.engine.events.hasListeners(name)
  }

  /** Emits an event of the work, unless the turn was aborted. */
  emit<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    if (!this.work.isAborted) this.report(name, extra)
  }

  /** Emits an event in any case: how the turn began and how it was settled. */
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
