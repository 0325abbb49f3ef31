/** The open calls of a turn. Types only: `call-stack.ts` keeps them, and is loaded with the first call. */
import type { StepRuntime } from '../../../flow/base-step.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import type { SessionFlow, SessionStep } from '../../../session/session-document.js'
import type { TurnReply } from '../../core/run-envelope.js'

/** A step that is open: the current one, or one that has called another and waits for its return. */
export interface OpenCall {
  readonly step: string
  readonly entry: string
  /** The step or flow that was called here; `undefined` for the first step. */
  readonly called: string | undefined
  /** The timers that the step has set in this turn, in milliseconds; `undefined` ends one. */
  timers: Map<string, number | undefined> | undefined
  readonly contentType: string | undefined
}

/** The open calls of a turn, and what comes before its reply. */
export interface OpenCalls {
  /** The steps that wait for a return, the first one first. */
  readonly callers: OpenCall[]
  /** The step or flow whose call has led to the current step. */
  called: string | undefined
  /** Which of the open calls has taken the turn's event. */
  takenAt: number | undefined
  /** The open call whose event runs; `undefined` if that is the current step. */
  handler: OpenCall | undefined
  lead: string | undefined
  leadParts: readonly ReplyPart[] | undefined
  /** The steps whose stored states are not used any more, because the flow that has them was called again. */
  readonly fresh: Set<string>
  /** The reply with what comes before it. */
  withLead(reply: TurnReply): TurnReply
  /** @throws `FlowCodeError` if a text comes before a reply that is not plain text */
  check(reply: TurnReply): void
  /** By step, the lists of choices that this turn has opened, or closed (`undefined`). */
  readonly choices: Map<string, SessionStep['choices']>
  withChoices(steps: SessionFlow['steps'], draft: StepRuntime): SessionFlow['steps']
  withoutFresh(steps: SessionFlow['steps']): SessionFlow['steps']
}
