/** The open calls of a session that begins in the middle, with timers that begin now. */
import { type FlowEvent, LogicStep, type SessionDocument } from '../../../src/index.js'
import { flowsAround, type ListedFlow, type ListedStep } from '../../flow-steps/flow-steps.js'

type Frame = NonNullable<SessionDocument['flow']['frames']>[number]

/**
 * The same document with its open calls, if there are any, or the step takes events.
 *
 * @param open - The current step last.
 */
export function withFrames(document: SessionDocument, open: readonly ListedStep[]): SessionDocument {
  const { createdAt, flow, turns } = document
  const frames = open.map((step, index): Frame => {
    const caller = open[index - 1]
    const called = caller && calledBy(caller, step)
    const ofFlow = caller === undefined ? flowsAround(step.of)[0] : called
    const entry = `${turns}.${index + 1}`
    const events = [...eventsOf(step, flow.steps[step.id]?.state), ...(ofFlow?.flow.events() ?? [])]
    const timers = timersOf(events, createdAt)
    return {
      ...{ step: step.id, entry },
      ...(caller && { called: called?.id ?? step.id }),
      ...(timers.length > 0 && { timers }),
    }
  })
  const [last] = open
  const isPlain = frames.length === 1 && frames[0]?.timers === undefined
  if (last === undefined || (isPlain && eventsOf(last, flow.steps[last.id]?.state).length === 0)) return document
  return { ...document, version: 3, flow: { ...flow, frames } }
}

/** The flow that a step has called; `undefined` if it has called a step in the flows around it. */
function calledBy(caller: ListedStep, { of }: ListedStep): ListedFlow | undefined {
  return flowsAround(caller.of).includes(of) ? undefined : of
}

function eventsOf({ id, stepClass }: ListedStep, state: object = new stepClass().initialState()): readonly FlowEvent[] {
  const step = new stepClass()
  LogicStep.attach(step, { readState: () => state, writeState: () => undefined }, id)
  return step.events()
}

function timersOf(events: readonly FlowEvent[], from: string): NonNullable<Frame['timers']> {
  return events.flatMap(({ name, after, silence }) => {
    const ms = after ?? silence
    return ms === undefined ? [] : [{ name, at: new Date(Date.parse(from) + ms).toISOString() }]
  })
}
