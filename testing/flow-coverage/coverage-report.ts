/**
 * What the conversations of a suite reached of a flow, compared with the flow's outline: as data, as named gaps, and as
 * text. `flow-coverage/flow-coverage.ts` counts.
 */
import { count, list } from '../expectations/expectation-error.js'
import type { CoveredStepKind, FlowOutline } from './flow-outline.js'

/** A step, and how often conversations reached it. */
export interface CoveredStep {
  readonly id: string
  readonly kind: CoveredStepKind
  /** How often it was seen: entered, or continued by a session that was in it already. */
  readonly seen: number
}

/** A tool, and how often models called it. */
export interface CoveredTool {
  /** The step in which it was called; `null` for a tool of the flow. */
  readonly step: string | null
  readonly name: string
  readonly calls: number
  /** The calls that succeeded. */
  readonly succeeded: number
}

/** A move from one step to another. */
export interface CoveredTransition {
  readonly from: string
  readonly to: string
  readonly seen: number
  /** Whether the `static next` of the step lists it; `null` if the step has none. */
  readonly declared: boolean | null
}

/** Something that no conversation reached, or that contradicts the flow. */
export interface CoverageGap {
  readonly kind:
    | 'step'
    | 'end step'
    | 'tool'
    | 'transition'
    | 'undeclared transition'
    | 'unknown step'
    | 'unknown tools'
  /** Its name for `expectFull({ except })`: `AskName`, `AskName.capture_name`, `AskName -> Confirm`. */
  readonly name: string
  /** In words. */
  readonly text: string
}

/** The coverage of one flow. */
export interface FlowCoverageOfFlow {
  readonly flow: string
  /** Turns of the conversations. */
  readonly turns: number
  readonly steps: readonly CoveredStep[]
  readonly tools: readonly CoveredTool[]
  readonly transitions: readonly CoveredTransition[]
  readonly gaps: readonly CoverageGap[]
}

/** The coverage of every flow: plain JSON. */
export interface FlowCoverageReport {
  readonly flows: readonly FlowCoverageOfFlow[]
}

/** The counts of one flow, by name. */
export interface FlowCounts {
  turns: number
  readonly steps: Map<string, number>
  /** By step, then by tool. */
  readonly tools: Map<string, Map<string, { calls: number; succeeded: number }>>
  /** By the step left, then by the step entered. */
  readonly transitions: Map<string, Map<string, number>>
}

/** Combines the counts with the outline. */
export function reportOf(outline: FlowOutline, counts: FlowCounts): FlowCoverageOfFlow {
  const steps = outline.steps.map(({ id, kind }) => ({ id, kind, seen: counts.steps.get(id) ?? 0 }))
  const tools = toolsOf(outline, counts)
  const transitions = transitionsOf(outline, counts)
  const covered = { flow: outline.flow, turns: counts.turns, steps, tools, transitions }
  return { ...covered, gaps: gapsOf(outline, covered) }
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

function transitionsOf(outline: FlowOutline, counts: FlowCounts): CoveredTransition[] {
  const transitions: CoveredTransition[] = []
  for (const { id: from, next } of outline.steps) {
    const seen = counts.transitions.get(from) ?? new Map<string, number>()
    for (const to of new Set(next)) transitions.push({ from, to, seen: seen.get(to) ?? 0, declared: true })
    for (const [to, times] of seen) {
      if (next?.includes(to) !== true)
        transitions.push({ from, to, seen: times, declared: next === undefined ? null : false })
    }
  }
  return transitions
}

/** The gaps. If a step was never reached, its tools and moves are left out. */
function gapsOf(outline: FlowOutline, covered: Omit<FlowCoverageOfFlow, 'gaps'>): CoverageGap[] {
  const missed = new Set(covered.steps.filter(({ seen }) => seen === 0).map(({ id }) => id))
  // A step that is entered without being listed is the ready-made end step.
  const known = new Set([...covered.steps.map(({ id }) => id), 'End'])
  const gaps: CoverageGap[] = []
  for (const { id, kind } of covered.steps) {
    if (!missed.has(id)) continue
    const [what, text] =
      kind === 'end' ? (['end step', 'no conversation ended there'] as const) : (['step', 'never reached'] as const)
    gaps.push({ kind: what, name: id, text: `${what} ${id}: ${text}` })
  }
  for (const { step, name: tool, calls, succeeded } of covered.tools) {
    if (succeeded > 0 || missed.has(step ?? '')) continue
    const name = `${step ?? covered.flow}.${tool}`
    const text = calls === 0 ? 'never called' : `called ${count(calls, 'time')}, and no call succeeded`
    gaps.push({ kind: 'tool', name, text: `tool ${name}: ${text}` })
  }
  for (const owner of outline.toolsNotKnown) {
    if (missed.has(owner)) continue
    const text = `tools of ${owner}: not known, they depend on the turn; name them: coverageOf(..., { tools: { ${owner}: [...] } })`
    gaps.push({ kind: 'unknown tools', name: `${owner}.*`, text })
  }
  for (const { from, to, seen, declared } of covered.transitions) {
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

/** A report in words. */
export function textOf({ flows }: FlowCoverageReport): string {
  return flows.map(flowText).join('\n\n')
}

function flowText({ flow, turns, steps, tools, transitions, gaps }: FlowCoverageOfFlow): string {
  const ends = steps.filter(({ kind }) => kind === 'end')
  const others = steps.filter(({ kind }) => kind !== 'end')
  const declared = transitions.filter((transition) => transition.declared === true)
  const lines = [
    `${flow}, ${count(turns, 'turn')}`,
    row('steps', others.filter(({ seen }) => seen > 0).length, others.length),
    row('end steps', ends.filter(({ seen }) => seen > 0).length, ends.length),
    row('tools', tools.filter(({ succeeded }) => succeeded > 0).length, tools.length),
    row('transitions', declared.filter(({ seen }) => seen > 0).length, declared.length),
  ]
  const free = transitions.filter((transition) => transition.declared === null)
  if (free.length > 0) {
    lines.push(`  seen from steps without next: ${list(free.map(({ from, to }) => `${from} -> ${to}`))}`)
  }
  lines.push(gaps.length === 0 ? '  nothing is missing' : '  missing:')
  lines.push(...gaps.map(({ text }) => `  - ${text}`))
  return lines.join('\n')
}

function row(what: string, reached: number, all: number): string {
  return `  ${what.padEnd(12)}${all === 0 ? 'none' : `${reached} of ${all}`}`
}
