/**
 * What the conversations of a suite reached of a flow, compared with the flow's outline: as data, and as named gaps.
 * `flow-coverage/coverage-counts.ts` has the counts; `flow-coverage/coverage-text.ts` and `flow-coverage/mermaid.ts`
 * show a report to people.
 */
import { count, list } from '../expectations/expectation-error.js'
import type { FlowCounts, TransitionKind } from './coverage-counts.js'
import { type CoveredField, fieldsOf } from './covered-fields.js'
import type { FlowOutline, OutlinedStep } from './flow-outline.js'
import { ownerOf, takerOf } from './owners.js'

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
  /** The step in which it was called, or the flow among the steps that has it; `null` for a tool of the flow. */
  readonly step: string | null
  readonly name: string
  readonly calls: number
  /** The calls that succeeded. */
  readonly succeeded: number
}

/** An outside event, and how often it was taken. @inline */
export interface CoveredEvent {
  /** The step that took it, or the flow among the steps; `null` for an event of the flow. */
  readonly step: string | null
  readonly name: string
  readonly taken: number
}

/** A move from one step to another. @inline */
export interface CoveredTransition {
  readonly from: string
  readonly to: string
  readonly seen: number
  /**
   * Whether the `static next` of the step lists it. `null` if it need not: the step has none, or it is a call or a
   * return.
   */
  readonly declared: boolean | null
  /** `call`: `from` waits for a return. `return`: `to` has waited for it. Absent for any other move. */
  readonly kind?: TransitionKind
}

/** Something that no conversation reached, or that contradicts the flow. @inline */
export interface CoverageGap {
  readonly kind:
    | 'step'
    | 'end step'
    | 'tool'
    | 'event'
    | 'field'
    | 'transition'
    | 'undeclared transition'
    | 'unknown step'
    | 'unknown tools'
  /** Its name for `expectFull({ except })`: `AskName`, `AskName.capture_name`, `AskName -> Confirm`. An event and a field have names like a tool. */
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
  /**
   * The fields of forms in which a conversation was that has the coverage as its option `coverage`. Absent if there are
   * none.
   */
  readonly fields?: readonly CoveredField[]
  readonly transitions: readonly CoveredTransition[]
  /** The IDs of those whose tools depend on the turn: steps, or flows. */
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
  const fields = fieldsOf(outline.fields, counts)
  const transitions = transitionsOf(outline, counts)
  const { flow, toolsNotKnown } = outline
  const covered = {
    flow,
    turns: counts.turns,
    steps,
    tools,
    ...(events.length === 0 ? {} : { events }),
    ...(fields.length === 0 ? {} : { fields }),
    transitions,
    toolsNotKnown,
  }
  return { ...covered, gaps: gapsOf(covered) }
}

/** The declared tools, and those that were called and are not declared. */
function toolsOf({ tools }: FlowOutline, counts: FlowCounts): CoveredTool[] {
  const covered = tools.map(({ step = null, name }) => ({ step, name, calls: 0, succeeded: 0 }))
  for (const [at, byName] of counts.tools) {
    for (const [name, { calls, succeeded }] of byName) {
      const owner = ownerOf(tools, at, name)
      const step = owner === undefined ? at : owner
      const known = covered.find((tool) => tool.step === step && tool.name === name)
      if (known === undefined) covered.push({ step, name, calls, succeeded })
      else Object.assign(known, { calls: known.calls + calls, succeeded: known.succeeded + succeeded })
    }
  }
  return covered
}

/** The declared events, and those that were taken and depend on the state of their step. */
function eventsOf({ events, forms }: FlowOutline, counts: FlowCounts): CoveredEvent[] {
  const covered = events.map(({ step = null, name }) => ({ step, name, taken: 0 }))
  for (const [at, byName] of counts.events) {
    for (const [name, times] of byName) {
      const taker = takerOf([...events, ...forms], at, name)
      const step = taker === undefined ? at : taker
      const known = covered.find((event) => event.step === step && event.name === name)
      if (known === undefined) covered.push({ step, name, taken: times })
      else known.taken += times
    }
  }
  return covered
}

/** The declared moves, and those that were seen. */
export function transitionsOf(
  { steps }: Pick<FlowOutline, 'steps'>,
  { transitions }: Pick<FlowCounts, 'transitions'>,
): CoveredTransition[] {
  return steps.flatMap(({ id: from, next }) => {
    const seenTo = (kind: keyof typeof transitions): ReadonlyMap<string, number> =>
      transitions[kind].get(from) ?? new Map()
    const [moves, calls, returns] = [seenTo('move'), seenTo('call'), seenTo('return')]
    const declared = [...new Set(next)]
    // A call or a return is as good as a move.
    const isMove = (to: string): boolean => moves.has(to) || !(calls.has(to) || returns.has(to))
    const ofKind = (kind: TransitionKind, seen: ReadonlyMap<string, number>): CoveredTransition[] =>
      [...seen].map(([to, times]) => ({ from, to, seen: times, declared: declared.includes(to) || null, kind }))
    return [
      ...declared.filter(isMove).map((to) => ({ from, to, seen: moves.get(to) ?? 0, declared: true })),
      ...[...moves]
        .filter(([to]) => !declared.includes(to))
        .map(([to, seen]) => ({ from, to, seen, declared: next === undefined ? null : false })),
      ...ofKind('call', calls),
      ...ofKind('return', returns),
    ]
  })
}

type Covered = Omit<FlowCoverageOfFlow, 'gaps'>

/** The gaps. If a step was never reached, its tools and moves are left out. */
function gapsOf(covered: Covered): CoverageGap[] {
  const missed = missedOf(covered)
  return [
    ...covered.steps.filter(({ id }) => missed.has(id)).map(stepGap),
    ...toolGaps(covered, missed),
    ...eventGaps(covered, missed),
    ...fieldGaps(covered),
    ...covered.toolsNotKnown.filter((owner) => !missed.has(owner)).map(unknownToolsGap),
    ...transitionGaps(covered, missed),
  ]
}

/** The steps that were never reached, and the flows among the steps of which no step was. */
function missedOf({ steps }: Covered): ReadonlySet<string> {
  const open = steps.filter(({ seen }) => seen > 0)
  const missed = steps.filter(({ seen }) => seen === 0)
  const isMissed = (flow: string): boolean => !open.some(({ id }) => id.startsWith(`${flow}/`))
  const flows = missed.flatMap(({ flow }) => (flow !== undefined && isMissed(flow) ? [flow] : []))
  return new Set([...missed.map(({ id }) => id), ...flows])
}

function stepGap({ id, kind, flow }: CoveredStep): CoverageGap {
  const who = flow === undefined ? 'no conversation' : `no call of ${flow}`
  return kind === 'end'
    ? { kind: 'end step', name: id, text: `end step ${id}: ${who} ended there` }
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

function fieldGaps({ fields = [] }: Covered): CoverageGap[] {
  const open = fields.filter(({ answered }) => answered === 0)
  return open.map(({ step, name: field }) => {
    const name = `${step}.${field}`
    return { kind: 'field', name, text: `field ${name}: never answered` }
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
