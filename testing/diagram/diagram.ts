/**
 * The map of a flow: its steps, the moves that `static next` declares, and what conversations did, as coverage counted it
 * and as stored sessions have it. `flow-coverage/mermaid.ts` draws it.
 */
import type { FlowConstructor, SessionDocument } from '../../src/index.js'
import { checkOptionNames, invalidInput } from '../../src/util/options.js'
import { checkFlow } from '../expectations/check-flow.js'
import { show } from '../expectations/expectation-error.js'
import { isListOf, isObject, isText } from '../expectations/value-kinds.js'
import { isReport } from '../flow-coverage/check-coverage.js'
import { countStep, countTransition, type FlowCounts, noCounts } from '../flow-coverage/coverage-counts.js'
import { type FlowCoverageReport, transitionsOf } from '../flow-coverage/coverage-report.js'
import type { FlowCoverage } from '../flow-coverage/flow-coverage.js'
import { type OutlinedStep, outlinedSteps } from '../flow-coverage/flow-outline.js'
import { addCovered } from '../flow-coverage/merge-reports.js'
import { type DiagramOfFlow, mermaidOf } from '../flow-coverage/mermaid.js'
import { listedSteps } from '../flow-steps/flow-steps.js'

/** The options of {@link diagramOf}. Counts of both add up. */
export interface DiagramOptions {
  /** What conversations of tests reached: the coverage of `turnkeeper/testing`, or its report. Default: nothing. */
  readonly coverage?: FlowCoverage | FlowCoverageReport
  /**
   * Stored sessions. Each has the last 20 steps that it entered, under the names that they had then: `aliases` are known.
   * Sessions of other flows are left out. Default: none.
   */
  readonly sessions?: Iterable<SessionDocument>
}

/** What {@link diagramOf} returns. `JSON.stringify` writes its `flows`. */
export interface FlowDiagram {
  /** In the order in which the flows were passed. Plain JSON. */
  readonly flows: readonly DiagramOfFlow[]
  /** The flows as a Mermaid flowchart: the same text for the same flows and counts. */
  mermaid(): string
}

/** A flow, with what is counted of it. */
interface CountedFlow {
  readonly flow: string
  readonly aliases: readonly string[]
  readonly steps: readonly OutlinedStep[]
  /** By each ID that a session may have for a step: the present one. */
  readonly stepIds: ReadonlyMap<string, string>
  readonly counts: FlowCounts
}

/**
 * The map of one or more flows. It makes the flows to ask for their steps, and runs nothing.
 *
 * @throws `InvalidInputError` without a flow, for what is not the class of a flow, if two flows have one ID, and for an
 * unknown option, a wrong coverage or what is not a session. What the constructors of flows throw.
 * @example
 * ```ts
 * await writeFile('docs/onboarding.mmd', diagramOf(Onboarding).mermaid())
 * const { flows } = diagramOf([Onboarding, Order], { sessions: [await engine.getSession(sessionId)] })
 * ```
 */
export function diagramOf(
  flows: FlowConstructor | readonly FlowConstructor[],
  options: DiagramOptions = {},
): FlowDiagram {
  checkOptionNames('diagramOf', options, { coverage: true, sessions: true })
  const counted = countedFlows(Array.isArray(flows) ? flows : [flows as FlowConstructor])
  const { coverage, sessions } = options
  if (coverage !== undefined) addCoverage(counted, coverage)
  if (sessions !== undefined) addSessions(counted, sessions)
  const hasCounts = coverage !== undefined || sessions !== undefined
  const drawn = counted.map((one) => drawnFlow(one, hasCounts))
  return { flows: drawn, mermaid: () => mermaidOf({ flows: drawn }) }
}

function countedFlows(flows: readonly FlowConstructor[]): readonly CountedFlow[] {
  if (flows.length === 0) throw invalidInput('diagramOf got no flow: there would be nothing to draw.')
  const ids = new Set<string>()
  return flows.map((flow) => {
    checkFlow('diagramOf', flow)
    if (ids.has(flow.id)) throw invalidInput(`diagramOf: two flows have the ID '${flow.id}'.`)
    ids.add(flow.id)
    const listed = listedSteps('diagramOf', flow)
    const steps = outlinedSteps(listed)
    const aliases = listed.flatMap((step) => step.aliases.map((alias) => [alias, step.id] as const))
    const stepIds = new Map([...aliases, ...steps.map(({ id }) => [id, id] as const)])
    return { flow: flow.id, aliases: flow.aliases, steps, stepIds, counts: noCounts() }
  })
}

function addCoverage(flows: readonly CountedFlow[], coverage: FlowCoverage | FlowCoverageReport): void {
  const { report: method } = Object(coverage) as { readonly report?: unknown }
  const report: unknown = typeof method === 'function' ? (coverage as FlowCoverage).report() : coverage
  if (!isReport(report)) {
    throw invalidInput(
      `diagramOf: coverage must be what coverageOf or coverFlows returned, or its report(); got ${show(report, 100)}.`,
    )
  }
  for (const covered of report.flows) {
    const known = flows.find(({ flow }) => flow === covered.flow)
    if (known !== undefined) addCovered(known.counts, covered)
  }
}

function addSessions(flows: readonly CountedFlow[], sessions: Iterable<SessionDocument>): void {
  if (typeof Object(sessions)[Symbol.iterator] !== 'function' || isText(sessions)) {
    throw invalidInput(`diagramOf: sessions must be a list of session documents; got ${show(sessions, 100)}.`)
  }
  for (const session of sessions) {
    if (!isSession(session)) {
      throw invalidInput(
        `diagramOf: sessions must be documents as engine.getSession returns them; got ${show(session, 100)}.`,
      )
    }
    const { name } = session.flow
    const known = flows.find(({ flow }) => flow === name) ?? flows.find(({ aliases }) => aliases.includes(name))
    if (known !== undefined) addSession(known, session.flow)
  }
}

function isSession(value: unknown): value is SessionDocument {
  const flow: unknown = isObject(value) && 'flow' in value ? value.flow : undefined
  if (!isObject(flow)) return false
  const { name, sequence, currentStep } = flow as Partial<SessionDocument['flow']>
  const isEntry = (entry: unknown): boolean =>
    isObject(entry) && 'step' in entry && isText(entry.step) && 'level' in entry && Number.isInteger(entry.level)
  return isText(name) && isListOf(sequence, isEntry) && (currentStep === null || isText(currentStep))
}

function addSession({ stepIds, counts }: CountedFlow, { sequence, currentStep }: SessionDocument['flow']): void {
  // A session that began in the middle has entered nothing.
  const entered = sequence.length > 0 || currentStep === null ? sequence : [{ step: currentStep, level: 0 }]
  // A step that the flow has no longer has no ID here: no move leads there, or on from there.
  const entries = entered.map(({ step, level }) => ({ id: stepIds.get(step), level }))
  for (const [index, { id, level }] of entries.entries()) {
    if (id === undefined) continue
    const { id: from, level: before } = entries[index - 1] ?? { id: undefined, level }
    const kind = kindOfMove(before, level)
    // As coverage counts: a step that waited for a return is not seen again.
    if (kind !== 'return' || !counts.steps.has(id)) countStep(counts, id)
    if (from !== undefined) countTransition(counts, { from, to: id, kind })
  }
}

function kindOfMove(before: number, level: number): 'move' | 'call' | 'return' {
  return level === before ? 'move' : level > before ? 'call' : 'return'
}

function drawnFlow({ flow, steps, counts }: CountedFlow, hasCounts: boolean): DiagramOfFlow {
  const seenOf = (times: number): { readonly seen?: number } => (hasCounts ? { seen: times } : {})
  return {
    flow,
    steps: steps.map(({ next: _next, ...step }) => ({ ...step, ...seenOf(counts.steps.get(step.id) ?? 0) })),
    transitions: transitionsOf({ steps }, counts).map(({ seen, ...move }) => ({ ...move, ...seenOf(seen) })),
  }
}
