/** What the modules of one engine share. The engine makes it once; nothing in it is global. */
import type { Clock } from '../config/clock.js'
import type { FlowRegistry } from '../flow/flow-registry.js'
import type { FlowLogger, FlowServices } from '../flow/turn.js'
import type { CircuitBreakers } from '../model/circuit-breaker.js'
import type { ModelBudgets } from '../model/model-budget.js'
import type { ModelRegistry } from '../model/model-registry.js'
import type { FlowSession } from '../session/flow-session.js'
import type { Compactor } from './compactor.js'
import type { EngineEvents } from './engine-events.js'
import type { EngineLimits } from './engine-limits.js'
import type { IdKind, ModelRetryOptions } from './engine-options.js'
import type { TurnControl } from './turn/turn-control.js'

/** The shared context of one engine. */
export interface EngineContext {
  readonly clock: Clock
  readonly limits: EngineLimits
  readonly generateId: (kind: IdKind) => string
  readonly events: EngineEvents
  readonly flows: FlowRegistry<Compactor>
  readonly models: ModelRegistry
  readonly session: FlowSession
  readonly services: FlowServices
  readonly logger: FlowLogger
  readonly random: () => number
  readonly modelRetry: Required<ModelRetryOptions>
  readonly circuitBreakers: CircuitBreakers
  readonly budgets: ModelBudgets | undefined
  readonly unknownSession: 'new' | 'reject'
  /** The turns under way. */
  readonly turns: Set<TurnControl>
}
