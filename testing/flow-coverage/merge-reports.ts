/** The reports of several processes as one: what each test file of a runner counted. */
import {
  countEvent,
  countField,
  countStep,
  countTool,
  countTransition,
  type FlowCounts,
  keepFewest,
  noCounts,
  noteForm,
  wayOf,
} from './coverage-counts.js'
import { type CoveredStep, type FlowCoverageOfFlow, type FlowCoverageReport, reportOf } from './coverage-report.js'
import type { FlowOutline, OutlinedStep } from './flow-outline.js'

/** A report on its way to a reporter, which gets one of each test file. */
export interface PassedReport extends FlowCoverageReport {
  /** The coverage that reports, and how many reports it has made. */
  readonly from: { readonly coverage: string; readonly count: number }
}

/**
 * The last report of each coverage: if test files share their modules, they share a coverage too, and each report of
 * it has all that the earlier ones have.
 */
export function lastReports(reports: readonly PassedReport[]): readonly FlowCoverageReport[] {
  return reports.filter(
    ({ from }) => !reports.some((other) => other.from.coverage === from.coverage && other.from.count > from.count),
  )
}

/** Merges reports. Flows with one ID are one flow, which has the steps and tools of all of them. */
export function mergeReports(reports: readonly FlowCoverageReport[]): FlowCoverageReport {
  const byFlow = new Map<string, FlowCoverageOfFlow[]>()
  for (const covered of reports.flatMap(({ flows }) => flows)) {
    byFlow.set(covered.flow, [...(byFlow.get(covered.flow) ?? []), covered])
  }
  const flows = [...byFlow.values()].map((covered) => {
    const counts = noCounts()
    for (const one of covered) addCovered(counts, one)
    return reportOf(outlineOfAll(covered), counts)
  })
  return { flows }
}

function outlineOfAll(covered: readonly FlowCoverageOfFlow[]): FlowOutline {
  const steps = new Map(covered.flatMap((one) => one.steps).map((step) => [step.id, outlined(step)]))
  const tools = new Map(
    covered.flatMap((one) => one.tools).map(({ step, name }) => [JSON.stringify([step, name]), { step, name }]),
  )
  const events = new Map(
    covered.flatMap((one) => one.events ?? []).map(({ step, name }) => [JSON.stringify([step, name]), { step, name }]),
  )
  const fields = new Map(
    covered.flatMap((one) => one.fields ?? []).map(({ step, name }) => [JSON.stringify([step, name]), { step, name }]),
  )
  const [first, ...others] = covered
  return {
    flow: first?.flow ?? '',
    steps: [...steps.values()],
    tools: [...tools.values()].map(({ step, name }) => (step === null ? { name } : { step, name })),
    events: [...events.values()].map(({ step, name }) => (step === null ? { name } : { step, name })),
    forms: [],
    fields: [...fields.values()],
    // One file may have named the tools that another one could not know.
    toolsNotKnown: (first?.toolsNotKnown ?? []).filter((owner) =>
      others.every((one) => one.toolsNotKnown.includes(owner)),
    ),
  }
}

/** A step without what was counted. */
function outlined({ seen: _seen, messages: _messages, endsAt: _endsAt, ...step }: CoveredStep): OutlinedStep {
  return step
}

/** Adds what was counted elsewhere. */
export function addCovered(
  counts: FlowCounts,
  { turns, steps, tools, events = [], fields = [], transitions }: FlowCoverageOfFlow,
): void {
  counts.turns += turns
  addEvents(counts, events)
  addFields(counts, fields)
  for (const { id, seen, messages, endsAt } of steps) {
    if (seen > 0) countStep(counts, id, seen)
    if (messages !== undefined) keepFewest(counts, id, wayOf(messages, endsAt))
  }
  for (const { step, name, ...called } of tools) {
    // A tool of the flow is counted without the step in which it was called.
    if (called.calls > 0) countTool(counts, step ?? '', name, called)
  }
  for (const transition of transitions) if (transition.seen > 0) countTransition(counts, transition, transition.seen)
}

function addFields(counts: FlowCounts, fields: NonNullable<FlowCoverageOfFlow['fields']>): void {
  for (const { step, name, answered } of fields) {
    noteForm(counts, step)
    if (answered > 0) countField(counts, step, name, answered)
  }
}

function addEvents(counts: FlowCounts, events: NonNullable<FlowCoverageOfFlow['events']>): void {
  // An event of the flow is counted without the step in which it was taken.
  for (const { step, name, taken } of events) if (taken > 0) countEvent(counts, step ?? '', name, taken)
}
