/**
 * What only turns with events or timers need. It is loaded with the first of them, so that applications without events
 * do not load it: docs/decisions/root-size.md.
 */
import type { EngineContext } from '../../core/engine-context.js'
import type { FlowEngineOptions } from '../../core/engine-options.js'
import type { runToCommit } from './run-to-commit.js'
import type { scheduleOverdue, scheduleWake } from './schedule-wake.js'
import type { takeEvent } from './take-event.js'

/** The session to wake, and when. */
export type Due = Parameters<NonNullable<FlowEngineOptions['schedule']>>[0]

/** See the files of the same names. */
export interface LateParts {
  readonly runToCommit: typeof runToCommit
  readonly takeEvent: typeof takeEvent
  readonly scheduleWake: typeof scheduleWake
  /** See `src/engine/waiting/wake-by-timer.ts`. */
  wakeByTimer(engine: EngineContext, due: Due): void
  readonly scheduleOverdue: typeof scheduleOverdue
}

/** Loads them. */
export function lateParts({ loadWaiting }: EngineContext): Promise<LateParts> {
  return loadWaiting() as Promise<LateParts>
}
