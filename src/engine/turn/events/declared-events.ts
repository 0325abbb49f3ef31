/** The outside events that the open calls and the flow of a turn declare. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { BaseStep } from '../../../flow/base-step.js'
import { type FlowEvent, isFlowEvent } from '../../../flow/event.js'
import { Flow } from '../../../flow/flow.js'
import { notEntered, openCalls } from '../draft/call-stack.js'
import type { FlowScope } from '../draft/flow-steps.js'
import type { OpenCall } from '../draft/open-calls.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** The events of one of the open calls. */
export interface DeclaredEvents {
  readonly call: OpenCall
  readonly ofStep: readonly FlowEvent[]
  /** The events of the flow that was called here; in the first place, of the session's flow. */
  readonly ofFlow: readonly FlowEvent[]
  readonly scope: FlowScope | undefined
}

const none: readonly FlowEvent[] = []

/**
 * The events of each open call, the current step last.
 *
 * @throws `FlowCodeError` for a result of `events()` that cannot be used
 */
export function declaredEvents(draft: TurnDraft): readonly DeclaredEvents[] {
  const { steps } = draft
  return openCalls(draft).map((call, index) => {
    const scope = index === 0 ? steps.root : steps.scopes?.get(call.called ?? '')
    const ofStep = call.entry === notEntered ? none : eventsOf(steps.require(call.step), `Step '${call.step}'`)
    const ofFlow = scope === undefined ? none : eventsOf(scope.flow, 'The flow')
    if (ofFlow.some(({ after }) => after !== undefined)) {
      throw flowCodeError('An event of a flow may not have after, only silence.')
    }
    // Their timers would have one name.
    checkNames([...ofStep, ...ofFlow.filter(({ silence }) => silence)], `Step '${call.step}' and its flow`)
    return { call, ofStep, ofFlow, scope }
  })
}

function eventsOf(declaring: BaseStep | Flow, owner: string): readonly FlowEvent[] {
  const isOverridden = declaring.events !== BaseStep.prototype.events && declaring.events !== Flow.prototype.events
  return isOverridden ? checked(declaring.events(), owner) : none
}

function checked(events: unknown, owner: string): readonly FlowEvent[] {
  if (!Array.isArray(events) || !events.every(isFlowEvent)) {
    throw flowCodeError(`${owner} must return a list from events(), made with event().`)
  }
  checkNames(events, owner)
  return events
}

function checkNames(events: readonly FlowEvent[], owner: string): void {
  const names = new Set<string>()
  for (const { name } of events) {
    if (names.has(name)) throw flowCodeError(`${owner} may not have two events with the name '${name}'.`)
    names.add(name)
  }
}
