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
import type { FlowSteps, LateStepParts } from '../draft/flow-steps.js'
import type { TransitionSource } from '../draft/transition-source.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** A turn, as flow code sees it. */
export interface EnteringTurn extends Turn {
  enter(message: string | undefined, returned?: Turn['returned']): void
}

/** See the functions of the same names. */
export interface LateParts extends LateStepParts {
  chosen(input: TurnInput, open: SessionStep['choices']): Turn['choice']
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

/** Loads them. */
export function lateParts({ loadWaiting }: EngineContext): Promise<LateParts> {
  return loadWaiting() as Promise<LateParts>
}

/** Loads them for the steps of a turn. */
export async function loadLateParts(steps: FlowSteps, engine: EngineContext): Promise<LateParts> {
  const late = await lateParts(engine)
  steps.late = late
  return late
}
