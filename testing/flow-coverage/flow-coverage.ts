/**
 * Which steps, tools, end steps and transitions of a flow the conversations of a suite reached. It listens to the
 * events of engines and counts (`flow-coverage/coverage-counts.ts`); what a flow has to reach is in
 * `flow-coverage/flow-outline.ts`, what is missing in `flow-coverage/coverage-report.ts`.
 */

import type { EngineEventMap, FlowConstructor, FlowEngine, SessionDocument } from '../../src/index.js'
import { checkOptionNames, hintAt, invalidInput, notAnEngine } from '../../src/util/options.js'
import type { ConversationTurn } from '../conversation/turns/conversation-turn.js'
import { knownSession, type TurnsSoFar } from '../conversation/turns/turn-names.js'
import { checkFlow } from '../expectations/check-flow.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { isListOf, isText } from '../expectations/value-kinds.js'
import { checkReport, checkToolNames } from './check-coverage.js'
import {
  countEvent,
  countStep,
  countTool,
  countTransition,
  type FlowCounts,
  keepFewest,
  noCounts,
  wayOf,
} from './coverage-counts.js'
import { type CoverageGap, type FlowCoverageReport, reportOf } from './coverage-report.js'
import { belowThresholds, type CoverageThresholds, checkThresholds } from './coverage-shares.js'
import { tableOf, textOf } from './coverage-text.js'
import { countAnswers } from './covered-fields.js'
import { type FlowOutline, outlineOf } from './flow-outline.js'
import { addCovered, type PassedReport } from './merge-reports.js'
import { mermaidOf } from './mermaid.js'

/** The options of {@link coverageOf}. */
export interface FlowCoverageOptions {
  /**
   * The names of tools by the ID of a step or of a flow, for its own tools: for a `tools()` that reads the turn or the
   * state, which cannot be called without a conversation. Default: `tools()` is called.
   */
  readonly tools?: Readonly<Record<string, readonly string[]>>
}

/** The options of {@link FlowCoverage.expectFull}. @inline */
export interface ExpectFullOptions {
  /**
   * What may be missing, by its name in the report: `'Confirm'`, `'AskName.capture_name'`, `'AskName -> Confirm'`; with
   * the flow before it if two flows have the same name: `'Onboarding/Confirm'`. A name that is not missing is refused.
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
 * const conversation = new Conversation(Onboarding, { coverage, script })
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
  /** Its name among those of all processes, made when it is needed. */
  #id: string | undefined
  #passed = 0

  /**
   * @throws `InvalidInputError` without a flow, for what is not the class of a flow, if two flows have one ID, and for
   * an option or a step that is unknown or wrong. What the constructors of flows and steps throw.
   */
  constructor(flows: readonly FlowConstructor[], options: FlowCoverageOptions = {}) {
    checkOptionNames('coverageOf', options, { tools: true })
    checkToolNames(options.tools)
    if (flows.length === 0) throw invalidInput('coverageOf got no flow: there would be nothing to reach.')
    for (const flow of flows) {
      checkFlow('coverageOf', flow)
      if (this.#flows.has(flow.id)) throw invalidInput(`coverageOf: two flows have the ID '${flow.id}'.`)
      this.#flows.set(flow.id, { outline: outlineOf(flow, options.tools ?? {}), counts: noCounts() })
    }
    const outlines = [...this.#flows.values()].map(({ outline }) => outline)
    const known = outlines.flatMap(({ flow, steps }) => [
      ...new Set([flow, ...steps.flatMap(({ id, flow: inner = [] }) => [inner, id].flat())]),
    ])
    const unknown = Object.keys(options.tools ?? {}).find((owner) => !known.includes(owner))
    if (unknown === undefined) return
    throw invalidInput(
      `coverageOf: tools names '${unknown}', and there is no such flow or step. There is ${list(known)}.${hintAt(unknown, known)}`,
    )
  }

  /**
   * Counts what an engine's conversations reach from now on. An engine is counted once, however often it is watched. A
   * `Conversation` with the option `coverage` watches its engines itself.
   *
   * @returns The engine.
   * @throws `InvalidInputError` for what is not an engine, such as the promise of one.
   */
  readonly watch = (engine: FlowEngine): FlowEngine => {
    if (typeof engine?.on !== 'function') throw notAnEngine(engine, 'coverage.watch')
    if (this.#watched.has(engine)) return engine
    this.#watched.add(engine)
    // By turn: the step that was left last. Only of this engine, because another one may use the same IDs.
    const left = new Map<string, string>()
    const see = ({ flowName, step }: EngineEventMap['step:enter']): FlowCounts | undefined => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts !== undefined && !counts.steps.has(step)) countStep(counts, step)
      return counts
    }
    engine.on('turn:start', ({ flowName }) => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts !== undefined) counts.turns++
    })
    // By turn: the step in which it began.
    const begun = new Map<string, string>()
    // By turn: the current step.
    const current = new Map<string, string>()
    engine.on('step:resume', ({ flowName, turnId, step }) => {
      const counts = this.#flows.get(flowName)?.counts
      const from = left.get(turnId)
      if (counts !== undefined && from !== undefined) countTransition(counts, { from, to: step, kind: 'return' })
      if (from === undefined) begun.set(turnId, step)
      left.delete(turnId)
      current.set(turnId, step)
    })
    engine.on('turn:content', ({ flowName, turnId, entry }) => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts !== undefined && entry?.event) countEvent(counts, begun.get(turnId) ?? entry.step, entry.event.name)
    })
    engine.on('turn:end', ({ turnId }) => {
      left.delete(turnId)
      begun.delete(turnId)
      current.delete(turnId)
    })
    engine.on('step:exit', (event) => {
      see(event)
      left.set(event.turnId, event.step)
      current.delete(event.turnId)
    })
    engine.on('step:enter', ({ flowName, turnId, step }) => {
      const counts = this.#flows.get(flowName)?.counts
      if (counts === undefined) return
      countStep(counts, step)
      const from = left.get(turnId)
      const caller = current.get(turnId)
      left.delete(turnId)
      current.set(turnId, step)
      if (from !== undefined) countTransition(counts, { from, to: step })
      // A step that calls is not left.
      else if (caller !== undefined) countTransition(counts, { from: caller, to: step, kind: 'call' })
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

  /**
   * The report, for a reporter that gets one of each test file.
   *
   * @internal
   */
  passedReport(): PassedReport {
    this.#id ??= crypto.randomUUID()
    return { ...this.report(), from: { coverage: this.#id, count: ++this.#passed } }
  }

  /** {@link FlowCoverage.report}, for `JSON.stringify`. */
  toJSON(): FlowCoverageReport {
    return this.report()
  }

  /** The report as text, with what is missing. */
  text(): string {
    return textOf(this.report())
  }

  /** The report as a table in Markdown: a line for each flow, in numbers and in percent. */
  table(): string {
    return tableOf(this.report())
  }

  /**
   * The report as a Mermaid flowchart: how often each step was seen and each transition was taken, and what was never
   * reached.
   */
  mermaid(): string {
    return mermaidOf(this.report())
  }

  /**
   * Keeps the messages that led to the steps of a turn, for {@link pathsOf}, and counts the fields of forms that were
   * answered. A `Conversation` calls it after each turn.
   *
   * @param turn - The last of them.
   * @param soFar - All turns of the conversation, those before a fork included.
   * @internal
   */
  addTurn(turn: ConversationTurn, { turns, start }: Pick<TurnsSoFar, 'turns' | 'start'>): void {
    const { reply, document } = turn
    const known = document && this.#flows.get(document.flow.name)
    if (document === undefined || known === undefined || !reply.success) return
    const earlier = { turns: turns.filter((one) => one !== turn), start }
    countAnswers(known.outline, known.counts, knownSession({ session: document.id }, earlier), document)
    if (turns.some(isBeginning)) keepWay(known.counts, turn, document)
  }

  /**
   * Adds the report of another process. Flows that are not covered here are left out.
   *
   * @throws `InvalidInputError` for what is not a report.
   */
  add(report: FlowCoverageReport): this {
    checkReport(report)
    for (const covered of report.flows) {
      const known = this.#flows.get(covered.flow)
      if (known !== undefined) addCovered(known.counts, covered)
    }
    return this
  }

  /**
   * Fails if something is missing: a step, an end step or a tool that no conversation reached, an event that none took,
   * a field of a form that none answered, a transition that was declared and not seen, or seen and not declared.
   *
   * @throws `ExpectationError` with all of it. `InvalidInputError` for an unknown option, and for an `except` that is
   * not a list of names.
   */
  expectFull(options: ExpectFullOptions = {}): void {
    checkOptionNames('expectFull', options, { except: true })
    const { except = [] } = options
    if (!isListOf(except, isText)) {
      throw invalidInput(
        `expectFull: except must be a list of names, as in { except: ['Leave'] }; got ${show(except)}.`,
      )
    }
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

  /**
   * Fails if the conversations reached less of a flow than this.
   *
   * @throws `ExpectationError` with what is below its threshold, and with all that is missing. `InvalidInputError` for
   * a threshold that is not a percentage.
   * @example
   * ```ts
   * coverage.expectAtLeast({ steps: 90, transitions: 80, tools: 100 })
   * ```
   */
  expectAtLeast(thresholds: CoverageThresholds): void {
    checkThresholds(thresholds)
    const report = this.report()
    const problems = belowThresholds(report, thresholds)
    if (problems.length === 0) return
    throw new ExpectationError(
      `The conversations reached less than they should:\n\n- ${problems.join('\n- ')}\n\n${textOf(report)}`,
    )
  }
}

/** Keeps the messages that led to the steps of a turn. */
function keepWay(counts: FlowCounts, { events, number }: ConversationTurn, { history }: SessionDocument): void {
  // No message leads where an event has led.
  if (number === undefined || history.some(({ event }) => event !== undefined)) return
  const messages = history.filter(({ turn }) => turn <= number).map(({ message }) => message)
  // A long session keeps only its last turns, so that its first messages are not known.
  if (messages.length !== number) return
  const endsAt = history.find(({ turn }) => turn === number)?.step
  for (const event of events) {
    if (event.kind !== 'enter') continue
    keepFewest(counts, event.step, wayOf(messages, endsAt === event.step ? undefined : endsAt))
  }
}

/**
 * Whether a turn is the first of a session that began with it. A session of `Conversation.at` has turns before it, or a
 * step that no turn entered.
 */
function isBeginning({ number, document, events }: ConversationTurn): boolean {
  const entered = events.filter(({ kind }) => kind === 'enter' || kind === 'return').length
  return number === 1 && document !== undefined && document.flow.sequence.length <= entered
}
