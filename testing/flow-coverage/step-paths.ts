/**
 * How to reach each step of a flow: with the messages of a conversation that did, and for a step that none has reached,
 * along the transitions that `static next` declares. It is where a new test starts; nothing is run.
 */
import type { FlowConstructor } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { checkFlow } from '../expectations/check-flow.js'
import { codeOf } from '../expectations/code-of.js'
import { ExpectationError, show } from '../expectations/expectation-error.js'
import { type WayToStep, wayOf } from './coverage-counts.js'
import type { CoveredStep, FlowCoverageOfFlow, FlowCoverageReport } from './coverage-report.js'
import { coverageOf, type FlowCoverage } from './flow-coverage.js'

/** The shortest known way to a step. */
export interface StepPath {
  /** The ID of the step. */
  readonly step: string
  /** The messages that are known to lead there, or as near to it as any conversation came. */
  readonly messages: readonly string[]
  /**
   * The IDs of the steps that are left to reach after these messages, the step itself last; empty if a conversation was
   * there.
   */
  readonly left: readonly string[]
  /** Whether the step can be reached at all, as far as `static next` says. */
  readonly isReachable: boolean
  /**
   * The path as the code of a test: a line for each message, and a comment in place of a message that you must find.
   */
  readonly code: string
}

/**
 * The shortest way to each step of a flow, in the order of its `steps()`.
 *
 * @param coverage - What conversations reached so far, with their messages. Default: nothing, so that every path starts
 * with the first step.
 * @throws `ExpectationError` if the coverage is of other flows. `InvalidInputError` for what is not a flow or a
 * coverage.
 * @example
 * ```ts
 * for (const path of pathsOf(Onboarding, coverage)) {
 *   if (path.left.length > 0) console.log(path.code)
 * }
 * ```
 */
export function pathsOf(flow: FlowConstructor, coverage?: FlowCoverage): readonly StepPath[] {
  checkFlow('pathsOf', flow)
  const { flows } = reportedBy(coverage === undefined ? coverageOf(flow) : coverage)
  const covered = flows.find((one) => one.flow === flow.id)
  if (covered === undefined) {
    throw new ExpectationError(
      `pathsOf: the coverage is not of flow '${flow.id}'. Make it with coverageOf(${nameOf(flow)}).`,
    )
  }
  const ways = shortestWays(covered)
  return covered.steps.map(({ id }) => {
    const known = ways.get(id)
    const way: Way = known ?? { step: id, messages: [], left: [id] }
    const { messages, left } = way
    const isReachable = known !== undefined
    return { step: id, messages, left, isReachable, code: codeOfPath(nameOf(flow), way, isReachable) }
  })
}

function reportedBy(coverage: FlowCoverage): FlowCoverageReport {
  if (typeof coverage?.report === 'function') return coverage.report()
  throw invalidInput(`pathsOf: coverage must be what coverageOf or coverFlows returned; got ${show(coverage, 100)}.`)
}

interface Way extends WayToStep {
  readonly step: string
  readonly left: readonly string[]
}

/**
 * The way to each step: the messages that are known, or else the shortest way from a step with such messages. Every
 * message counts one, and so does every step that is left.
 */
function shortestWays({ steps, transitions }: FlowCoverageOfFlow): ReadonlyMap<string, Way> {
  const known = new Set(steps.map(({ id }) => id))
  const waysFrom = ({ step, left, ...way }: Way): Way[] => {
    // The last message passes through this step: another one in its place has to lead on.
    const messages = way.endsAt === undefined ? way.messages : way.messages.slice(0, -1)
    const next = transitions.filter(({ from, to }) => from === step && known.has(to))
    return next.map(({ to }) => ({ step: to, messages, left: [...left, to] }))
  }
  // A step that was reached keeps its messages, however near to it `static next` seems to lead.
  const first = steps.find(({ flow }) => flow === undefined)
  const ways = new Map(steps.flatMap((step) => startAt(step, step === first)).map((way) => [way.step, way]))
  const open = [...ways.values()].flatMap(waysFrom)
  for (let way = takeNearest(open); way !== undefined; way = takeNearest(open)) {
    if (ways.has(way.step)) continue
    ways.set(way.step, way)
    open.push(...waysFrom(way))
  }
  return ways
}

/** The steps at which paths begin: the reached ones, and always the first one. */
function startAt({ id: step, messages, endsAt }: CoveredStep, isFirst: boolean): Way[] {
  if (messages !== undefined) return [{ step, ...wayOf(messages, endsAt), left: [] }]
  return isFirst ? [{ step, messages: [], left: [step] }] : []
}

function takeNearest(open: Way[]): Way | undefined {
  open.sort((one, other) => lengthOf(one) - lengthOf(other))
  return open.shift()
}

function lengthOf({ messages, left }: Way): number {
  return messages.length + left.length
}

/** The class as code: its own name. Its ID may be anything. */
function nameOf(flow: FlowConstructor): string {
  return ['', 'default'].includes(flow.name) ? 'Flow' : flow.name
}

function codeOfPath(flowName: string, { step, messages, left, endsAt }: Way, isReachable: boolean): string {
  const advice = isReachable
    ? left.map((next) => `await conversation.say('') // a message that leads to ${next}`)
    : [`// No step that can be reached lists ${step} in its static next.`]
  if (endsAt !== undefined) advice.push(`// The last message passes through ${step}.`)
  return [
    `test(${codeOf(`reaches ${step}`)}, async () => {`,
    `  await using conversation = new Conversation(${flowName}, { coverage })`,
    ...messages.map((message) => `  await conversation.say(${codeOf(message)})`),
    ...advice.map((line) => `  ${line}`),
    `  conversation.expectStep(${codeOf(endsAt ?? step)})`,
    '})',
  ].join('\n')
}
