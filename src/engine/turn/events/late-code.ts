/**
 * What only turns with events, timers, calls and parts need. It is loaded with the first of them, so that applications
 * without them do not load it: docs/decisions/root-size.md. The functions import what they need of a turn, so this file
 * does not name theirs; `flow-engine.ts` checks the types.
 */
import type { Step } from '../../../flow/step.js'
import type { Tool } from '../../../flow/tool.js'
import type { Transition } from '../../../flow/transition.js'
import type { Turn } from '../../../flow/turn.js'
import type { SessionDocument, SessionStep } from '../../../session/session-document.js'
import type { EngineContext } from '../../core/engine-context.js'
import type { Mask } from '../../core/mask-text.js'
import type { TurnOutcome } from '../../core/run-envelope.js'
import type { TurnInput } from '../../core/turn-input.js'
import type { TurnControl } from '../control/turn-control.js'
import type { FlowSteps, LateStepCode } from '../draft/flow-steps.js'
import type { TransitionSource } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** A turn, as flow code sees it. */
export interface EnteringTurn extends Turn {
  /** Set once a question in between is answered: what a model reads in place of that question. */
  answered?: string | undefined
  enter(message: string | undefined, returned?: Turn['returned']): void
}

/** See the functions of the same names. */
export interface LateCode extends LateStepCode {
  chosen(input: TurnInput, open: SessionStep['choices'], mask: Mask | undefined): Turn['choice']
  collectFlows(control: TurnControl, steps: FlowSteps): Promise<void>
  endCall(control: TurnControl, draft: TurnDraft, turn: EnteringTurn): Promise<void>
  followCall(
    control: TurnControl,
    draft: TurnDraft,
    turn: EnteringTurn,
    transition: Transition,
    source: TransitionSource,
  ): Promise<void>
  keepFrames(control: TurnControl, draft: TurnDraft): Promise<void>
  resumeCalls(draft: TurnDraft): void
  runToCommit(first: TurnControl, run: (control: TurnControl) => Promise<TurnOutcome>): Promise<TurnOutcome>
  scheduleOverdue(control: TurnControl, document: SessionDocument): void
  storeParts(draft: TurnDraft, mask: Mask | undefined): void
  takeEvent(
    control: TurnControl,
    draft: TurnDraft,
    turn: Turn,
  ): Promise<{ readonly transition: Transition; readonly source: TransitionSource }>
  toolsOfFlows(draft: TurnDraft, turn: Turn, step: Step): Promise<ReadonlyMap<string, Tool>>
}

/** Loads the late code. */
export function lateCode({ loadWaiting }: EngineContext): Promise<LateCode> {
  return loadWaiting() as Promise<LateCode>
}

/** Loads the late code, and gives it to the steps of a turn for what is called synchronously. */
export async function loadLate(steps: FlowSteps, engine: EngineContext): Promise<LateCode> {
  const late = await lateCode(engine)
  steps.late = late
  return late
}
