/**
 * Which steps, tools, end steps and transitions of a flow the conversations of a suite reached. It listens to the events
 * of engines and counts; what a flow has to reach is in `flow-coverage/flow-outline.ts`, what is missing in
 * `flow-coverage/coverage-report.ts`.
 */

import type { EngineEventMap, FlowConstructor, FlowEngine } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { count, ExpectationError, list } from '../expectations/expectation-error.js'
import {
  type CoverageGap,
  type FlowCounts,
  type FlowCoverageOfFlow,
  type FlowCoverageReport,
  reportOf,
  textOf,
} from './coverage-report.js'
import { type FlowOutline, outlineOf } from './flow-outline.js'

/** The options of {@link coverageOf}. */
export interface FlowCoverageOptions {
  /**
   * The names of tools by step ID, or by the flow's ID for its own tools: for a `tools()` that reads the turn or the state,
   * which cannot be called without a conversation. Default: `tools()` is called.
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>
}

/** The options of {@link FlowCoverage.expectFull}. */
export interface ExpectFullOptions {
  /**
   * What may be missing, by its name in the report: `'Confirm'`, `'AskName.capture_name'`, `'AskName -> Confirm'`; with the
   * flow before it if two flows have the same name: `'Onboarding/Confirm'`. A name that is not missing is refused.
   * Default: nothing.
   */
  readonly except?: readonly string[]
}

/**
 * Counts what conversations reach of these flows.
 *
 * @example
 * ```ts
 * const coverage = coverageOf([Onboarding])
 * const conversation = new Conversation(Onboarding, { onEngine: coverage.watch, script })
 * // ... every conversation of the suite, then, after all of them:
 * coverage.expectFull({ except: ['Leave'] })
 * ```
 */
export function coverageOf(
  flows: FlowConstructor | readonly FlowConstructor[],
  options: FlowCoverageOptions = {},
): FlowCoverage {
  return new FlowCoverage(Array.isArray(flows) ? flows : [flows as FlowConstructor], options)
}

/** What conversations reached so far, of any number of engines. Make one with {@link coverageOf}. */
export class FlowCoverage {
  readonly #flows = new Map<string, { readonly outline: FlowOutline; readonly counts: FlowCounts }>()
  readonly #watched = new WeakSet<FlowEngine>()

  /** @throws `ExpectationError` if two flows have one ID. What the constructors of flows and steps throw. */
  constructor(flows: readonly FlowConstructor[], options: FlowCoverageOptions = {}) {
    for (const flow of flows) {
      if (this.#flows.has(flow.id)) throw invalidInput(`coverageOf: two flows have the ID '${flow.id}'.`)
      const counts = { turns: 0, steps: new Map(), tools: new Map(), transitions: new Map() }
      this.#flows.set(flow.id, { outline: outlineOf(flow, options.tools ?? {}), counts })
    }
  }

  /**
   * Counts what an engine's conversations reach from now on. An engine is counted once, however often it is watched.
   * Pass the method itself as `onEngine` of a conversation.
   *
   * @returns The engine.
   */
  readonly watch = (engine: FlowEngine): FlowEngine => {
    if (this.#watched.has(engine)) return engine
    this.#watched.add(engine)
    // By turn: the step that was left last. Only of this engine, because another one may use the same IDs.
    const left = new Map<string, string>()
    const see = ({ flowName, step }: EngineEventMap['step:enter']): FlowCounts | undefined => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts !== undefined && !counts.steps.has(step)) counts.steps.set(step, 1)
      return counts
    }
    engine.on('turn:start', ({ flowName }) => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts !== undefined) counts.turns++
    })
    engine.on('turn:end', ({ turnId }) => left.delete(turnId))
    engine.on('step:exit', (event) => {
      see(event)
      left.set(event.turnId, event.step)
    })
    engine.on('step:enter', ({ flowName, turnId, step }) => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts === undefined) return
      increase(counts.steps, step)
      const from = left.get(turnId)
      left.delete(turnId)
      if (from !== undefined) countTransition(counts, from, step)
    })
    engine.on('model:start', see)
    engine.on('tool:end', (event) => {
      const counts = see(event)
      if (counts === undefined) return
      countTool(counts, event.step, event.tool, { calls: 1, succeeded: event.success ? 1 : 0 })
    })
    return engine
  }

  /** What was reached so far, as plain JSON: write it to a file, and {@link add} it in another process. */
  report(): FlowCoverageReport {
    return { flows: [...this.#flows.values()].map(({ outline, counts }) => reportOf(outline, counts)) }
  }

  /** {@link FlowCoverage.report}, for `JSON.stringify`. */
  toJSON(): FlowCoverageReport {
    return this.report()
  }

  /** The report as text. */
  text(): string {
    return textOf(this.report())
  }

  /** Adds the report of another process. Flows that are not covered here are left out. */
  add({ flows }: FlowCoverageReport): this {
    for (const covered of flows) {
      const known = this.#flows.get(covered.flow)
      if (known !== undefined) addCovered(known.counts, covered)
    }
    return this
  }

  /**
   * Fails if something is missing: a step, an end step or a tool that no conversation reached, a transition that was
   * declared and not seen, or seen and not declared.
   *
   * @throws `ExpectationError` with all of it.
   */
  expectFull({ except = [] }: ExpectFullOptions = {}): void {
    const report = this.report()
    const used = new Set<string>()
    const isLeftOut = (flow: string, { name }: CoverageGap): boolean => {
      const by = [name, `${flow}/${name}`].filter((wanted) => except.includes(wanted))
      for (const wanted of by) used.add(wanted)
      return by.length > 0
    }
    const flows = report.flows.map((flow) => ({ ...flow, gaps: flow.gaps.filter((gap) => !isLeftOut(flow.flow, gap)) }))
    const stale = except.filter((name) => !used.has(name))
    const problems: string[] = []
    const gaps = flows.flatMap((flow) => flow.gaps)
    if (gaps.length > 0) {
      problems.push(
        `The conversations did not reach everything: ${count(gaps.length, 'gap')}.\n\n${textOf({ flows })}\n\nAdd a conversation that goes there, or leave it out by name: expectFull({ except: ['${gaps[0]?.name}'] }).`,
      )
    }
    if (stale.length > 0) {
      problems.push(`Left out by name, and not missing: ${list(stale)}. Take it out of except.`)
    }
    if (problems.length > 0) throw new ExpectationError(problems.join('\n\n'))
  }
}

function addCovered(counts: FlowCounts, { turns, steps, tools, transitions }: FlowCoverageOfFlow): void {
  counts.turns += turns
  for (const { id, seen } of steps) if (seen > 0) increase(counts.steps, id, seen)
  for (const { step, name, ...called } of tools) {
    // A tool of the flow is counted without the step in which it was called.
    if (called.calls > 0) countTool(counts, step ?? '', name, called)
  }
  for (const { from, to, seen } of transitions) if (seen > 0) countTransition(counts, from, to, seen)
}

function countTool(counts: FlowCounts, step: string, name: string, by: { calls: number; succeeded: number }): void {
  const ofStep = entry(counts.tools, step, () => new Map())
  const called = entry(ofStep, name, () => ({ calls: 0, succeeded: 0 }))
  called.calls += by.calls
  called.succeeded += by.succeeded
}

function countTransition(counts: FlowCounts, from: string, to: string, by = 1): void {
  const left = entry(counts.transitions, from, () => new Map())
  increase(left, to, by)
}

function increase(counts: Map<string, number>, key: string, by = 1): void {
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
