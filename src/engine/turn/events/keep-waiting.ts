/** At the end of a turn: what its session waits for. Every turn calls this, so it costs nothing without events and calls. */
import { BaseStep } from '../../../flow/base-step.js'
import { Flow } from '../../../flow/flow.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { lateCode } from './late-code.js'

/**
 * Puts the frames of the open calls into the draft, if the session waits for anything, and has their timers scheduled.
 *
 * @throws (rejects) `FlowCodeError` for events that cannot be used; `FlowError` with the code `SCHEDULE_ERROR`
 */
export function keepWaiting(control: TurnControl, draft: TurnDraft): Promise<void> | undefined {
  const { completed, calls, flow, steps, stepId } = draft
  if (completed) return undefined
  const hasEvents = steps.require(stepId).events !== BaseStep.prototype.events || flow.events !== Flow.prototype.events
  if (!hasEvents && (calls === undefined || calls.callers.length === 0)) return undefined
  return lateCode(control.engine).then(({ keepFrames }) => keepFrames(control, draft))
}

/** Called after the commit: ends the process's timer of a session without timers, and schedules a wake that came early. */
export function waitingCommitted(control: TurnControl, document: SessionDocument): void {
  const { id, flow } = document
  const { wakeTimers, clock } = control.engine
  if (flow.wakeAt === undefined) wakeTimers.get(id)?.()
  else if (Date.parse(flow.wakeAt) <= clock.now()) {
    void lateCode(control.engine).then(({ scheduleOverdue }) => scheduleOverdue(control, document))
  }
}
