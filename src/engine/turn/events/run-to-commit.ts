/** Tries the turn of an event again if another process has changed the session meanwhile. */
import { monotonicTime } from '../../../config/clock.js'
import type { TurnOutcome } from '../../core/run-envelope.js'
import { TurnControl } from '../control/turn-control.js'

/** How often an event is tried, if other processes change the session meanwhile. */
const eventAttempts = 3

/** Runs the turn of an event again after a conflict, with the effects and the usage of the lost one. */
export async function runToCommit(
  first: TurnControl,
  run: (control: TurnControl) => Promise<TurnOutcome>,
): Promise<TurnOutcome> {
  const { engine, input, flowName } = first
  let control = first
  for (let attempt = 1; ; attempt++) {
    const outcome = await run(control)
    const { work } = control
    const isLate = monotonicTime(engine.clock) >= work.deadlineAt
    if (outcome.error?.code !== 'SESSION_CONFLICT' || attempt >= eventAttempts || isLate) return outcome
    engine.admission.leave(control)
    control = new TurnControl(engine, input, flowName, input.sessionId as string, { after: control })
  }
}
