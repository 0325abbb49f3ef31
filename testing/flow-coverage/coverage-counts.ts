/** What coverage counts of one flow, and how a count grows. */

/** How a conversation reached a step. */
export interface WayToStep {
  readonly messages: readonly string[]
  /** The step in which the last message ended, if it only passed through the step. */
  readonly endsAt?: string
}

/** A way as it is made of its parts, the end left out if there is none. */
export function wayOf(messages: readonly string[], endsAt: string | undefined): WayToStep {
  return endsAt === undefined ? { messages } : { messages, endsAt }
}

/** A step calls another, or returns to the one that has called it. @inline */
export type TransitionKind = 'call' | 'return'

/** The counts of one flow, by name. */
export interface FlowCounts {
  turns: number
  readonly steps: Map<string, number>
  /** By step, then by tool. */
  readonly tools: Map<string, Map<string, { calls: number; succeeded: number }>>
  /** By step, then by event: how often it was taken there, by the step or by the flow. */
  readonly events: Map<string, Map<string, number>>
  /** By form, then by field: how often it got a value. A form without known values is not there. */
  readonly fields: Map<string, Map<string, number>>
  /** By kind: keyed by the step left, then by the step entered. */
  readonly transitions: Readonly<Record<'move' | TransitionKind, Map<string, Map<string, number>>>>
  /** By step: the fewest messages with which a conversation reached it. */
  readonly messages: Map<string, WayToStep>
}

/** The counts of a flow in which nothing was reached. */
export function noCounts(): FlowCounts {
  return {
    turns: 0,
    steps: new Map(),
    tools: new Map(),
    events: new Map(),
    fields: new Map(),
    transitions: { move: new Map(), call: new Map(), return: new Map() },
    messages: new Map(),
  }
}

export function countStep(counts: FlowCounts, step: string, by = 1): void {
  increase(counts.steps, step, by)
}

export function countTool(
  counts: FlowCounts,
  step: string,
  name: string,
  by: { calls: number; succeeded: number },
): void {
  const ofStep = entry(counts.tools, step, () => new Map())
  const called = entry(ofStep, name, () => ({ calls: 0, succeeded: 0 }))
  called.calls += by.calls
  called.succeeded += by.succeeded
}

export function countEvent(counts: FlowCounts, step: string, name: string, by = 1): void {
  increase(
    entry(counts.events, step, () => new Map()),
    name,
    by,
  )
}

/** The values of a form were seen, though there may be none. */
export function noteForm(counts: FlowCounts, form: string): void {
  entry(counts.fields, form, () => new Map())
}

export function countField(counts: FlowCounts, form: string, name: string, by = 1): void {
  increase(
    entry(counts.fields, form, () => new Map()),
    name,
    by,
  )
}

export function countTransition(
  counts: FlowCounts,
  { from, to, kind = 'move' }: { readonly from: string; readonly to: string; readonly kind?: 'move' | TransitionKind },
  by = 1,
): void {
  const left = entry(counts.transitions[kind], from, () => new Map())
  increase(left, to, by)
}

/** Keeps the messages that led to a step, if no better ones are known: fewer, or as many that also stay there. */
export function keepFewest(counts: FlowCounts, step: string, way: WayToStep): void {
  const known = counts.messages.get(step)
  const fewer = (known?.messages.length ?? Number.POSITIVE_INFINITY) - way.messages.length
  if (fewer > 0 || (fewer === 0 && way.endsAt === undefined)) counts.messages.set(step, way)
}

function increase(counts: Map<string, number>, key: string, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

function entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}
