/** The open calls of a turn: opening one, returning from one, and what was said meanwhile. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { StepRuntime } from '../../../flow/base-step.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import type { SessionFlow, SessionStep } from '../../../session/session-document.js'
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
  readonly renewed: Set<string> = new Set()
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
      const known = steps[stepId] ?? { state: copyJson(draft.readState(stepId), 'state', Number.POSITIVE_INFINITY) }
      const { choices: _former, ...step } = known as SessionStep
      return [stepId, choices === undefined ? step : { ...step, choices }]
    })
    return { ...steps, ...Object.fromEntries(entries) }
  }

  withoutRenewed(steps: SessionFlow['steps']): SessionFlow['steps'] {
    if (this.renewed.size === 0) return steps
    return Object.fromEntries(Object.entries(steps).filter(([stepId]) => !this.renewed.has(stepId)))
  }
}

/** The open calls of a turn; made if there are none. */
export function callsOf(draft: TurnDraft): OpenCalls {
  draft.calls ??= new CallStack()
  return draft.calls
}

/** Goes on with the stored calls of a session. */
export function resumeCalls(draft: TurnDraft): void {
  const { frames = [], currentStep } = draft.base.flow
  const open = frames.map(({ step, entry, called, contentType }) => ({
    ...{ step, entry, called, contentType },
    timers: undefined,
  }))
  const current = open.pop()
  // `migrate` or `onRestore` may have moved the session, and left the frames behind.
  if (current === undefined || current.step !== currentStep) return
  draft.storedEntry = current.entry
  const calls = callsOf(draft)
  calls.called = current.called
  calls.callers.push(...open)
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

/** Puts a text before the reply. */
export function addLead(draft: TurnDraft, text: string | undefined): void {
  if (text === undefined || text === '') return
  const calls = callsOf(draft)
  calls.lead = calls.lead === undefined ? text : joined(calls.lead, text)
}

/** Two texts of one reply. */
function joined(lead: string, text: string): string {
  return text === '' ? lead : `${lead}\n\n${text}`
}
