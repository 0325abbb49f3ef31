/**
 * What the conversations of a suite reached of a flow, compared with the flow's outline: as data, and as named gaps.
 * `flow-coverage/coverage-counts.ts` has the counts; `flow-coverage/coverage-text.ts` and `flow-coverage/mermaid.ts`
 * show a report to people.
 */
import { count, list } from '../expectations/expectation-error.js'
import type { FlowCounts } from './coverage-counts.js'
import type { FlowOutline, OutlinedStep } from './flow-outline.js'

/** A step, and how often conversations reached it. @inline */
export interface CoveredStep extends OutlinedStep {
  /** How often it was seen: entered, or continued by a session that was in it already. */
  readonly seen: number
  /**
   * The fewest messages with which a conversation reached it; absent if none are known. Only a conversation that has
   * the coverage as its option `coverage` reports its messages.
   */
  readonly messages?: readonly string[]
  /**
   * The step in which the last of these messages ended, if it only passed through this one. Absent if it ended here.
   */
  readonly endsAt?: string
}

/** A tool, and how often models called it. @inline */
export interface CoveredTool {
  /** The step in which it was called; `null` for a tool of the flow. */
  readonly step: string | null
  readonly name: string
  readonly calls: number
  /** The calls that succeeded. */
  readonly succeeded: number
}

/** An outside event, and how often it was taken. @inline */
export interface CoveredEvent {
  /** The step that took it; `null` for an event of the flow. */
  readonly step: string | null
  readonly name: string
  readonly taken: number
}

/** A move from one step to another. @inline */
export interface CoveredTransition {
  readonly from: string
  readonly to: string
  readonly seen: number
  /** Whether the `static next` of the step lists it; `null` if the step has none. */
  readonly declared: boolean | null
}

/** Something that no conversation reached, or that contradicts the flow. @inline */
export interface CoverageGap {
  readonly kind:
    | 'step'
    | 'end step'
    | 'tool'
    | 'event'
    | 'transition'
    | 'undeclared transition'
    | 'unknown step'
    | 'unknown tools'
  /** Its name for `expectFull({ except })`: `AskName`, `AskName.capture_name`, `AskName -> Confirm`. An event has a name like a tool. */
  readonly name: string
  /** In words. */
  readonly text: string
}

/** The coverage of one flow. @inline */
export interface FlowCoverageOfFlow {
  readonly flow: string
  /** Turns of the conversations. */
  readonly turns: number
  readonly steps: readonly CoveredStep[]
  readonly tools: readonly CoveredTool[]
  /** Absent if there are none. */
  readonly events?: readonly CoveredEvent[]
  readonly transitions: readonly CoveredTransition[]
  /** The IDs of those whose tools depend on the turn: steps, or the flow itself. */
  readonly toolsNotKnown: readonly string[]
  readonly gaps: readonly CoverageGap[]
}

/** The coverage of every flow: plain JSON. */
export interface FlowCoverageReport {
  readonly flows: readonly FlowCoverageOfFlow[]
}

/** Combines the counts with the outline. */
export function reportOf(outline: FlowOutline, counts: FlowCounts): FlowCoverageOfFlow {
  const steps = outline.steps.map((step) => {
    return { ...step, seen: counts.steps.get(step.id) ?? 0, ...counts.messages.get(step.id) }
  })
  const tools = toolsOf(outline, counts)
  const events = eventsOf(outline, counts)
  const transitions = transitionsOf(outline, counts)
  const { flow, toolsNotKnown } = outline
  const covered = {
    flow,
    turns: counts.turns,
    steps,
    tools,
    ...(events.length === 0 ? {} : { events }),
    transitions,
    toolsNotKnown,
  }
  return { ...covered, gaps: gapsOf(covered) }
}

function toolsOf(outline: FlowOutline, counts: FlowCounts): CoveredTool[] {
  const tools: CoveredTool[] = outline.tools.map(({ step, name }) => {
    const own =
      step === undefined
        ? [...counts.tools].filter(([at]) => !isOwn(outline, at, name))
        : [...counts.tools].filter(([at]) => at === step)
    let [calls, succeeded] = [0, 0]
    for (const [, byName] of own) {
      calls += byName.get(name)?.calls ?? 0
      succeeded += byName.get(name)?.succeeded ?? 0
    }
    return { step: step ?? null, name, calls, succeeded }
  })
  const shared = new Set(outline.tools.filter(({ step }) => step === undefined).map(({ name }) => name))
  for (const [step, byName] of counts.tools) {
    for (const [name, called] of byName) {
      if (!isOwn(outline, step, name) && !shared.has(name)) tools.push({ step, name, ...called })
    }
  }
  return tools
}

function isOwn(outline: FlowOutline, step: string, name: string): boolean {
  return outline.tools.some((tool) => tool.step === step && tool.name === name)
}

/** The declared events, and those that were taken and depend on the state of their step. */
function eventsOf({ events }: FlowOutline, counts: FlowCounts): CoveredEvent[] {
  const declares = (step: string | undefined, name: string): boolean =>
    events.some((event) => event.step === step && event.name === name)
  const isOfFlow = (step: string, name: string): boolean => !declares(step, name) && declares(undefined, name)
  const taken = [...counts.events].flatMap(([step, byName]) =>
    [...byName].map(([name, times]) => ({ step, name, times })),
  )
  const others = taken.filter(({ step, name }) => !declares(step, name) && !isOfFlow(step, name))
  return [
    ...events.map(({ step, name }) => {
      const own = taken.filter(
        (one) => one.name === name && (step === undefined ? isOfFlow(one.step, name) : one.step === step),
      )
      return { step: step ?? null, name, taken: own.reduce((sum, { times }) => sum + times, 0) }
    }),
    ...others.map(({ step, name, times }) => ({ step, name, taken: times })),
  ]
}

function transitionsOf(outline: FlowOutline, counts: FlowCounts): CoveredTransition[] {
  return outline.steps.flatMap(({ id, next }) => transitionsFrom(id, next, counts.transitions.get(id) ?? new Map()))
}

function transitionsFrom(
  from: string,
  next: readonly string[] | undefined,
  seen: ReadonlyMap<string, number>,
): CoveredTransition[] {
  const declared = [...new Set(next)].map((to) => ({ from, to, seen: seen.get(to) ?? 0, declared: true }))
  const others = [...seen].filter(([to]) => next?.includes(to) !== true)
  const undeclared = others.map(([to, times]) => ({
    from,
    to,
    seen: times,
    declared: next === undefined ? null : false,
  }))
  return [...declared, ...undeclared]
}

type Covered = Omit<FlowCoverageOfFlow, 'gaps'>

/** The gaps. If a step was never reached, its tools and moves are left out. */
function gapsOf(covered: Covered): CoverageGap[] {
  const missed = new Set(covered.steps.filter(({ seen }) => seen === 0).map(({ id }) => id))
  return [
    ...covered.steps.filter(({ id }) => missed.has(id)).map(stepGap),
    ...toolGaps(covered, missed),
    ...eventGaps(covered, missed),
    ...covered.toolsNotKnown.filter((owner) => !missed.has(owner)).map(unknownToolsGap),
    ...transitionGaps(covered, missed),
  ]
}

function stepGap({ id, kind }: CoveredStep): CoverageGap {
  return kind === 'end'
    ? { kind: 'end step', name: id, text: `end step ${id}: no conversation ended there` }
    : { kind: 'step', name: id, text: `step ${id}: never reached` }
}

function toolGaps(covered: Covered, missed: ReadonlySet<string>): CoverageGap[] {
  const unused = covered.tools.filter(({ step, succeeded }) => succeeded === 0 && !missed.has(step ?? ''))
  return unused.map(({ step, name: tool, calls }) => {
    const name = `${step ?? covered.flow}.${tool}`
    const text = calls === 0 ? 'never called' : `called ${count(calls, 'time')}, and no call succeeded`
    return { kind: 'tool', name, text: `tool ${name}: ${text}` }
  })
}

function eventGaps({ flow, events = [] }: Covered, missed: ReadonlySet<string>): CoverageGap[] {
  const open = events.filter(({ step, taken }) => taken === 0 && !missed.has(step ?? ''))
  return open.map(({ step, name: event }) => {
    const name = `${step ?? flow}.${event}`
    return { kind: 'event', name, text: `event ${name}: never taken` }
  })
}

function unknownToolsGap(owner: string): CoverageGap {
  const text = `tools of ${owner}: not known, they depend on the turn; name them: coverageOf(..., { tools: { ${owner}: [...] } })`
  return { kind: 'unknown tools', name: `${owner}.*`, text }
}

function transitionGaps({ steps, transitions }: Covered, missed: ReadonlySet<string>): CoverageGap[] {
  // A step that is entered without being listed is the ready-made end step.
  const known = new Set([...steps.map(({ id }) => id), 'End'])
  const gaps: CoverageGap[] = []
  for (const { from, to, seen, declared } of transitions) {
    const name = `${from} -> ${to}`
    if (declared === true && !known.has(to)) {
      const text = `next of ${from}: the flow has no step '${to}' (its steps: ${list(known)})`
      gaps.push({ kind: 'unknown step', name, text })
    } else if (declared === true && seen === 0 && !missed.has(from) && !missed.has(to)) {
      gaps.push({ kind: 'transition', name, text: `transition ${name}: declared, and never seen` })
    } else if (declared === false) {
      const text = `transition ${name}: seen ${count(seen, 'time')}, and not in the next of ${from}`
      gaps.push({ kind: 'undeclared transition', name, text })
    }
  }
  return gaps
}
