/**
 * What only turns with events or timers need. It is loaded with the first of them, so that applications without events
 * do not load it: docs/decisions/root-size.md.
 */
import type { EngineContext } from '../../core/engine-context.js'
import type { runToCommit } from './run-to-commit.js'
import type { scheduleOverdue, scheduleWake } from './schedule-wake.js'
import type { takeEvent } from './take-event.js'

/** See the files of the same names. */
export interface LateParts {
  readonly runToCommit: typeof runToCommit
  readonly takeEvent: typeof takeEvent
  readonly scheduleWake: typeof scheduleWake
  readonly scheduleOverdue: typeof scheduleOverdue
}

/** Loads them. */
export function lateParts({ loadWaiting }: EngineContext): Promise<LateParts> {
  return loadWaiting() as Promise<LateParts>
}
