/** The outside events that the current step and the flow of a turn declare. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { BaseStep } from '../../../flow/base-step.js'
import { type FlowEvent, isFlowEvent } from '../../../flow/event.js'
import { Flow } from '../../../flow/flow.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** The events by who declares them. */
export interface DeclaredEvents {
  readonly ofStep: readonly FlowEvent[]
  readonly ofFlow: readonly FlowEvent[]
}

const none: readonly FlowEvent[] = []

/**
 * The events of the current step and of the flow; `undefined` if neither declares any, which costs nothing.
 *
 * @throws `FlowCodeError` for a result of `events()` that cannot be used
 */
export function declaredEvents({ flow, steps, stepId }: TurnDraft): DeclaredEvents | undefined {
  const step = steps.require(stepId)
  const hasOwn = step.events !== BaseStep.prototype.events
  const isFlowWide = flow.events !== Flow.prototype.events
  if (!hasOwn && !isFlowWide) return undefined
  const ofStep = hasOwn ? checked(step.events(), `Step '${stepId}'`) : none
  const ofFlow = isFlowWide ? checked(flow.events(), 'The flow') : none
  if (ofFlow.some(({ after }) => after !== undefined)) {
    throw flowCodeError('An event of a flow may not have after, only silence.')
  }
  // Their timers would have one name.
  checkNames([...ofStep, ...ofFlow.filter(({ silence }) => silence)], `Step '${stepId}' and its flow`)
  return { ofStep, ofFlow }
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
