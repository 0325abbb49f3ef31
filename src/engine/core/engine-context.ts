/**
 * The state that the modules of one engine share. `create-context.ts` makes it once; none of it is global. Modules
 * above this folder keep their state here too, behind narrow interfaces.
 */
import type { Clock } from '../../config/clock.js'
import type { Deadlines } from '../../config/deadlines.js'
import type { FlowError } from '../../errors/flow-error.js'
import type { FlowRegistry } from '../../flow/flow-registry.js'
import type { FlowLogger, FlowServices } from '../../flow/turn.js'
import type { CircuitBreakers } from '../../model/circuit-breaker.js'
import type { EngineBudgets } from '../../model/model-budget.js'
import type { ModelRegistry } from '../../model/model-registry.js'
import type { FlowSession } from '../../session/flow-session.js'
import type { OwnerBudgets } from '../budgets/owner-budgets.js'
import type { EngineEvents } from './engine-events.js'
import type { EngineLimits } from './engine-limits.js'
import type { FlowEngineOptions, IdKind, ModelRetryOptions } from './engine-options.js'
import type { TurnOutcome } from './run-envelope.js'
import type { RequestKey, TurnInput } from './turn-input.js'

/** A running turn or summary, as seen by a closing engine. */
export interface RunningTurn {
  /** Ends the turn with an error. */
  abort(error: FlowError): void
  /** Called when the turn is settled. */
  onSettled: (() => void) | undefined
}

/** The engine's options about models. */
export interface ModelSettings {
  readonly random: () => number
  readonly modelRetry: Required<ModelRetryOptions>
  readonly circuitBreakers: CircuitBreakers
  readonly budgets: EngineBudgets | undefined
}

/** The limits on the turns of an engine. */
export type ConcurrencyLimit = 'maxConcurrentTurns' | 'maxConcurrentTurnsPerOwner'

/** A turn that counts towards a {@link ConcurrencyLimit}. */
export interface AdmittedTurn {
  readonly owner?: string | undefined
  /** Whether it takes an event of the application, which the owner's places do not count. Default `false`. */
  readonly isOfServer?: boolean
  /** Resolves when the turn is settled. */
  readonly outcome?: Promise<unknown>
}

/** A turn that a repeat of its request can join. */
export interface KeyedTurn {
  readonly turnId: string
  readonly flowName: string
  readonly input: TurnInput
  /** Whether `engine.cancel` ended it. */
  readonly isCancelled: boolean
  /** Resolves when the turn is settled. */
  readonly outcome: Promise<TurnOutcome>
  /** Switches the reader of this turn to the pieces of another one. Default: to none. */
  readFrom(other: KeyedTurn | undefined): void
}

/** The session and the owner that a request names. */
export interface NamedSession {
  readonly sessionId?: string | undefined
  readonly owner?: string | undefined
}

/** The shared context of one engine. */
export interface EngineContext extends ModelSettings {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly limits: EngineLimits
  readonly generateId: (kind: IdKind) => string
  readonly events: EngineEvents
  readonly flows: FlowRegistry
  readonly models: ModelRegistry
  readonly session: FlowSession
  readonly services: FlowServices
  readonly logger: FlowLogger
  readonly unknownSession: 'new' | 'reject'
  readonly onTurnError: 'abort' | 'rollback'
  readonly errorText: NonNullable<FlowEngineOptions['errorText']>
  readonly mask: FlowEngineOptions['mask']
  readonly outdated: 'refuse' | 'restart'
  readonly busy: NonNullable<FlowEngineOptions['busy']>
  readonly schedule: FlowEngineOptions['schedule']
  /** By session: functions that stop the timer that wakes it. See `waiting/wake-by-timer.ts`. */
  readonly wakeTimers: Map<string, () => void>
  /** Loads `waiting/index.ts`. Its types are in `turn/events/late-code.ts`. */
  readonly loadWaiting: () => Promise<unknown>
  /** `undefined` if owners have no budget. */
  readonly ownerBudgets: OwnerBudgets | undefined
  readonly turns: Set<RunningTurn>
  /** Running work of `turn.once`, by its idempotency key. It may outlive its turn. */
  readonly workUnderWay: Map<string, Promise<unknown>>
  /** See `lock/admission.ts`. */
  readonly admission: {
    enter(turn: AdmittedTurn): ConcurrencyLimit | undefined
    leave(turn: AdmittedTurn): void
    turnsOf(owner: string): readonly AdmittedTurn[]
  }
  /** See `after-turn-tasks.ts`. */
  readonly afterTurnTasks: { begin(task: () => Promise<void>): Promise<void>; settled(): Promise<void> }
  /** See `idempotency/keyed-turns.ts`. */
  readonly keyedTurns: {
    run(turn: KeyedTurn, run: () => Promise<TurnOutcome>): Promise<TurnOutcome>
    addSession(turn: KeyedTurn, sessionId: string): void
    follow(superseded: readonly KeyedTurn[], newer: KeyedTurn): void
  }
  /** See `idempotency/claims.ts`. */
  readonly claims: { claim(requestKey: RequestKey, round: number, sessionId: string): Promise<string> }
  /** See `idempotency/arrivals.ts`. */
  readonly arrivals: {
    before(named: NamedSession): Promise<void> | undefined
    look<T>(named: NamedSession, look: () => Promise<T>): Promise<T>
  }
}
