/** The open calls of a turn: opening one, returning from one, and what was said meanwhile. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { SessionFlowInvariantError } from '../../../errors/session-errors.js'
import type { StepRuntime } from '../../../flow/base-step.js'
import type { TransitionFields } from '../../../flow/transition.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import type { SessionFlow, SessionFrame, SessionStep } from '../../../session/session-document.js'
import { copyJson } from '../../../util/json.js'
import { plain, type TurnReply } from '../../core/run-envelope.js'
import type { OpenCall, OpenCalls } from './open-calls.js'
import type { TurnDraft } from './turn-draft.js'

/** The entry of a step that has called before it was entered. */
export const notEntered = '0'

/** The open calls of one turn. */
class CallStack implements OpenCalls {
  readonly callers: OpenCall[] = []
  called: string | undefined
  takenAt: number | undefined
  handler: OpenCall | undefined
  lead: string | undefined
  leadParts: readonly ReplyPart[] | undefined
  readonly fresh: Set<string> = new Set()
  readonly choices: Map<string, SessionStep['choices']> = new Map()

  withLead(reply: TurnReply): TurnReply {
    const { lead } = this
    return lead === undefined ? reply : { ...reply, text: joined(lead, reply.text) }
  }

  check({ contentType, encoding }: TurnReply): void {
    if (this.lead === undefined || (contentType === plain && encoding === undefined)) return
    throw flowCodeError(`The reply after a lead must be plain text; got ${contentType}.`)
  }

  withChoices(steps: SessionFlow['steps'], draft: StepRuntime): SessionFlow['steps'] {
    if (this.choices.size === 0) return steps
    const entries = [...this.choices].map(([stepId, choices]) => {
      // A flow may answer with a list before its first step is entered.
      const known = Object.hasOwn(steps, stepId)
        ? steps[stepId]
        : { state: copyJson(draft.readState(stepId), 'state', Number.POSITIVE_INFINITY) }
      const { choices: _former, ...step } = known as SessionStep
      return [stepId, choices === undefined ? step : { ...step, choices }]
    })
    return { ...steps, ...Object.fromEntries(entries) }
  }

  withoutFresh(steps: SessionFlow['steps']): SessionFlow['steps'] {
    if (this.fresh.size === 0) return steps
    return Object.fromEntries(Object.entries(steps).filter(([stepId]) => !this.fresh.has(stepId)))
  }
}

/** The open calls of a turn; made if there are none. */
export function callsOf(draft: TurnDraft): OpenCalls {
  draft.calls ??= new CallStack()
  return draft.calls
}

/**
 * Goes on with the stored calls of a session.
 *
 * @throws `SessionFlowInvariantError` for calls that this version of the flow cannot return from
 */
export function resumeCalls(draft: TurnDraft): void {
  const { frames = [], currentStep } = draft.base.flow
  const open = frames.map(
    ({ step, entry, called, contentType }): OpenCall => ({ step, entry, called, timers: undefined, contentType }),
  )
  const current = open.pop()
  // `migrate` or `onRestore` may have moved the session, and left the frames behind.
  if (current === undefined || current.step !== currentStep) return
  checkFrames(draft, frames)
  draft.storedEntry = current.entry
  const calls = callsOf(draft)
  calls.called = current.called
  calls.callers.push(...open)
}

function checkFrames({ base: { id }, steps }: TurnDraft, frames: readonly SessionFrame[]): void {
  const isKnown = (name: string | undefined): boolean =>
    name === undefined || steps.get(name) !== undefined || steps.scopes?.has(name) === true
  const refuse = (problem: string): Error => new SessionFlowInvariantError({ sessionId: id, problem })
  for (const { step, called, timers = [] } of frames) {
    const removed = [called, step].find((name) => !isKnown(name))
    if (removed !== undefined) {
      throw refuse(`'${removed}' is open in it, and its flow has no such step (former IDs belong into static aliases)`)
    }
    const wrong = timers.find(({ at }) => Number.isNaN(Date.parse(at)))
    if (wrong !== undefined) throw refuse(`the time of its timer '${wrong.name}' cannot be read`)
  }
}

/** The open calls, the current step last. */
export function openCalls(draft: TurnDraft): readonly OpenCall[] {
  const { stepId: step, entry, calls, timers } = draft
  // The content type of the current step is the flow's.
  return [...(calls?.callers ?? []), { step, entry, called: calls?.called, timers, contentType: undefined }]
}

/** Has the current step wait for a return. */
export function pushCaller(draft: TurnDraft, called: string): void {
  const { stepId: step, entry, timers, stepContentType: contentType } = draft
  const calls = callsOf(draft)
  const isEntered = draft.currentStep !== null
  calls.callers.push({ step, entry: isEntered ? entry : notEntered, called: calls.called, timers, contentType })
  calls.called = called
}

/** Makes the last step that waits for a return the current one. There must be one. */
export function popCaller(draft: TurnDraft): void {
  const calls = callsOf(draft)
  const { step, entry, called, timers, contentType } = calls.callers.pop() as OpenCall
  calls.called = called
  draft.currentStep = step
  draft.storedEntry = entry
  draft.timers = timers
  draft.stepContentType = contentType
  draft.nextReply = undefined
  draft.addedPrompt = undefined
}

/** Opens a list of choices in a step, or closes it. */
export function setChoices(draft: TurnDraft, stepId: string, choices: SessionStep['choices']): void {
  callsOf(draft).choices.set(stepId, choices)
}

/** Puts a text before the reply, with its parts if it is alone. */
export function addLead(draft: TurnDraft, { lead, reply, parts }: Partial<TransitionFields>): void {
  if (lead === undefined || lead === '') return
  const calls = callsOf(draft)
  calls.lead = calls.lead === undefined ? lead : joined(calls.lead, lead)
  if (reply === undefined) addLeadParts(calls, parts)
}

/** Nothing can be chosen before another reply. */
export function addLeadParts(calls: OpenCalls, parts: readonly ReplyPart[] = []): void {
  const shown = parts.filter(({ type }) => type !== 'choices')
  if (shown.length > 0) calls.leadParts = [...(calls.leadParts ?? []), ...shown]
}

/** Two texts of one reply. */
function joined(lead: string, text: string): string {
  return text === '' ? lead : `${lead}\n\n${text}`
}
