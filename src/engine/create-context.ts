/** Makes the context that the modules of one engine share. */
import { type Clock, systemClock } from '../config/clock.js'
import { ConfigManager } from '../config/config-manager.js'
import { Deadlines } from '../config/deadlines.js'
import { FlowError } from '../errors/flow-error.js'
import { FlowRegistry } from '../flow/flow-registry.js'
import type { FlowServices } from '../flow/turn.js'
import { ModelRegistry } from '../model/model-registry.js'
import { FlowSession } from '../session/flow-session.js'
import { StoreAccess, type StoreWatch } from '../session/store-access.js'
import { checkStore, createStore } from '../stores/create-store.js'
import { AfterTurnTasks } from './after-turn-tasks.js'
import { OwnerBudgets } from './budgets/owner-budgets.js'
import { consoleLogger } from './console-logger.js'
import type { EngineContext, RunningTurn } from './core/engine-context.js'
import { EngineEvents } from './core/engine-events.js'
import { longestTurnMs, resolveLimits } from './core/engine-limits.js'
import type { FlowEngineOptions } from './core/engine-options.js'
import { createGenerateId } from './core/ids.js'
import { Arrivals } from './idempotency/arrivals.js'
import { Claims } from './idempotency/claims.js'
import { KeyedTurns } from './idempotency/keyed-turns.js'
import { Admission } from './lock/admission.js'
import { resolveModelOptions } from './model-call/model-options.js'

/**
 * Makes the context from the options of an engine.
 *
 * @param loadWaiting - See `EngineContext`.
 * @throws `InvalidInputError` for invalid options
 */
export function createEngineContext(
  options: FlowEngineOptions,
  loadWaiting: EngineContext['loadWaiting'],
): EngineContext {
  const clock = options.clock ?? systemClock
  const limits = resolveLimits(options.limits)
  const store = checkStore(options.sessionStore) ?? createStore(options.configManager ?? new ConfigManager(), clock)
  const events = new EngineEvents(options.onListenerError ?? reportToConsole)
  const turns = new Set<RunningTurn>()
  const deadlines = new Deadlines(clock)
  const { turnTimeoutMs, storeTimeoutMs } = limits
  const session = new FlowSession(
    new StoreAccess({ store, clock, deadlines, storeTimeoutMs, watch: watchStore(events, clock) }),
    {
      clock,
      turnTimeoutMs,
      storeTimeoutMs,
      onTaken(sessionId, holder, turnId) {
        if (!events.hasListeners('lock:taken')) return
        const who = turnId === undefined ? { holder } : { holder, turnId }
        events.emit('lock:taken', { sessionId, at: clock.now(), ...who })
      },
    },
  )
  const settings = resolveModelOptions(options)
  const owner = settings.budgets?.owner
  return {
    clock,
    deadlines,
    limits,
    generateId: createGenerateId(options.generateId),
    events,
    flows: new FlowRegistry(),
    models: new ModelRegistry(),
    session,
    services: options.services ?? ({} as FlowServices),
    logger: options.logger ?? consoleLogger,
    ...settings,
    unknownSession: options.unknownSession ?? 'new',
    onTurnError: options.onTurnError ?? 'abort',
    errorText: options.errorText ?? 'full',
    mask: options.mask,
    outdated: options.outdated ?? 'refuse',
    busy: options.busy ?? 'queue',
    schedule: options.schedule,
    wakeTimers: new Map(),
    loadWaiting,
    admission: new Admission(clock, limits),
    ownerBudgets: owner && new OwnerBudgets(owner, clock, longestTurnMs(limits)),
    turns,
    afterTurnTasks: new AfterTurnTasks(),
    keyedTurns: new KeyedTurns({ clock, limits, events }),
    claims: new Claims(session.access, clock),
    arrivals: new Arrivals(),
    workUnderWay: new Map(),
  }
}

/** Emits `store:end` for each operation of the store. */
function watchStore(events: EngineEvents, clock: Clock): StoreWatch {
  return {
    isWatched: () => events.hasListeners('store:end'),
    report({ operation, sessionId, turnId, durationMs, error }) {
      const code = FlowError.isInstance(error) ? error.code : 'SESSION_STORE_ERROR'
      const failed = error === undefined ? undefined : { code }
      const ended = { operation, sessionId, durationMs, success: failed === undefined, at: clock.now() }
      events.emit('store:end', Object.assign(ended, turnId && { turnId }, failed))
    },
  }
}

function reportToConsole(error: unknown, event: string): void {
  console.error(`A listener of '${event}' failed.`, error)
}
