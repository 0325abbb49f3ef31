/**
 * Runs a simulation, seed by seed, and writes its failure. `simulate/draw-plans.ts` draws the plans,
 * `simulate/simulated-world.ts` runs them, and `simulate/promises.ts` has what holds for every flow.
 */

import { Flow, type FlowConstructor, LogicStep, type SessionStore } from '../../src/index.js'
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { shownValue } from '../../src/util/shown-value.js'
import { thrownText } from '../expectations/author-frames.js'
import { codeOf } from '../expectations/code-of.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { isListOf } from '../expectations/value-kinds.js'
import { type ListedStep, listedSteps } from '../flow-steps/flow-steps.js'
import { formOf, isForm } from '../flow-steps/form-steps.js'
import { defaultHangAfterMs } from '../virtual-clock/hang-watch.js'
import { type PlanOptions, plansOf } from './draw-plans.js'
import { anyone, type Plan } from './plan.js'
import type { Violation } from './promises.js'
import type { SimulateOptions, SimulationResult } from './simulate-options.js'
import { SimulatedWorld } from './simulated-world.js'
import { testCode } from './test-code.js'

const optionNames: OptionNames<SimulateOptions> = {
  seeds: true,
  actors: true,
  invariants: true,
  model: true,
  payloads: true,
  maxActions: true,
  faults: true,
  restarts: true,
  together: true,
  mayFail: true,
  services: true,
  tools: true,
  limits: true,
  onTurnError: true,
  config: true,
  owner: true,
  wrapStore: true,
  hangAfterMs: true,
}

/** Runs a simulation, and rejects as documented at `simulate`. */
export async function runSimulation(flow: FlowConstructor, options: SimulateOptions): Promise<SimulationResult> {
  const { seeds = 100, faults = true, restarts = true, together = true } = options
  const {
    actors = [anyone],
    invariants = {},
    payloads = {},
    mayFail = [],
    tools = {},
    hangAfterMs = defaultHangAfterMs,
  } = options
  checkOptionNames('simulate', options, optionNames)
  checkDoubles(tools)
  checkNumber('simulate', 'hangAfterMs', hangAfterMs)
  const seedList = typeof seeds === 'number' ? countedSeeds(seeds) : listedSeeds(seeds)
  if (actors.length === 0) throw invalidInput('simulate: actors must have at least one actor.')
  const { model, wrapStore = (store: SessionStore) => store } = options
  const fc = await fastCheck()
  const { fields, ...outline } = outlineOf(flow)
  const { maxActions = 8 + 3 * fields } = options
  const plans = plansOf(fc, { maxActions, faults, restarts, together, ...outline })
  const worldOptions = { ...options, actors, invariants, payloads, mayFail, model, wrapStore, hangAfterMs }
  const seen = { offered: new Set<string>(), unsent: new Set<string>() }
  const result = { conversations: 0, turns: 0, disturbed: 0, together: 0, events: 0, completed: 0 }
  for (const seed of seedList) {
    let failed: Failed | undefined
    let shrunk = -1
    const property = fc.asyncProperty(plans, async (plan: Plan) => {
      // A shorter one would hang as well, each for as long.
      if (failed?.world?.isHanging === true) return true
      const played = await play(() => new SimulatedWorld(flow, worldOptions), plan)
      if (played.failed === undefined) {
        if (failed === undefined) add(result, played.world, seen)
        return true
      }
      // The last one that fails is the shortest.
      failed = played.failed
      shrunk++
      return false
    })
    const run = await fc.check(property, { seed, numRuns: 1 })
    if (failed !== undefined) {
      const { cause } = failed
      throw new ExpectationError(failureText(flow, seed, shrunk, failed, options), cause === undefined ? {} : { cause })
    }
    // What fast-check itself threw.
    if (run.failed) throw new ExpectationError(`Seed ${seed} cannot be simulated.`, { cause: run.errorInstance })
  }
  requireOffered(Object.keys(tools), seen.offered)
  requirePayloads(seen.unsent)
  return result
}

/** What the plans depend on of a flow: its outside events, and how many fields its longest form has. */
function outlineOf(flowClass: FlowConstructor): Pick<PlanOptions, 'events' | 'hasForm'> & { readonly fields: number } {
  try {
    const steps = listedSteps('simulate', flowClass)
    const forms = steps.filter(({ stepClass }) => isForm(stepClass))
    const fields = Math.max(0, ...forms.map((step) => formOf(step, { now: 0 }).fields.length))
    const hasForm = forms.length > 0
    return { events: steps.some(takesEvents) ? 'any' : hasForm ? 'forms' : 'none', hasForm, fields }
  } catch {
    // The first conversation fails with the reason.
    return { events: 'none', hasForm: false, fields: 0 }
  }
}

/** Whether a step, or the flow that lists it, has outside events, besides the submission of a form. */
function takesEvents({ of, stepClass }: ListedStep): boolean {
  if (of.flow.events !== Flow.prototype.events) return true
  const step = new stepClass()
  return step.events !== LogicStep.prototype.events && !(isForm(stepClass) && step.events().length === 1)
}

function requirePayloads(unsent: ReadonlySet<string>): void {
  const [first] = unsent
  if (first === undefined) return
  throw new ExpectationError(
    `The simulation never sent these events, because they have an input: ${list(unsent)}.\nMake their payloads: simulate(..., { payloads: { ${codeOf(first)}: (pick) => ... } }).`,
  )
}

function requireOffered(doubles: readonly string[], offered: ReadonlySet<string>): void {
  const unused = doubles.filter((name) => !offered.has(name))
  if (unused.length === 0) return
  throw new ExpectationError(
    `No conversation of the simulation reached a step that offers a tool with the name of a double: ${list(unused)}.\n  tools offered: ${list(offered)}\nCorrect the name, or let the actors come that far.`,
  )
}

function checkDoubles(tools: Readonly<Record<string, unknown>>): void {
  const name = Object.keys(tools).find((key) => Array.isArray(tools[key]))
  if (name === undefined) return
  throw invalidInput(
    `simulate: the double of '${name}' must be a value or a function for every call; a list of results would be used up. To return a list, write a function: () => [...].`,
  )
}

/** The seeds 1, 2, 3 and so on. */
function countedSeeds(count: number): readonly number[] {
  checkNumber('simulate', 'seeds', count, { min: 1, whole: true, finite: true })
  return Array.from({ length: count }, (_, index) => index + 1)
}

function listedSeeds(seeds: readonly number[]): readonly number[] {
  if (!isListOf(seeds, Number.isSafeInteger)) {
    throw invalidInput(
      `simulate: seeds must be a number of conversations, or a list of seeds, which are whole numbers; got ${Array.isArray(seeds) ? show(seeds, 100) : shownValue(seeds)}.`,
    )
  }
  if (seeds.length === 0) throw invalidInput('simulate: seeds must have at least one seed.')
  return seeds
}

/** A conversation that broke a promise, or that could not go on. */
interface Failed {
  /** `undefined` if it could not be made. */
  readonly world: SimulatedWorld | undefined
  readonly violation?: Violation
  /** What was thrown, if no promise was broken. */
  readonly cause?: unknown
}

async function play(
  make: () => SimulatedWorld,
  plan: Plan,
): Promise<{ readonly world: SimulatedWorld; readonly failed?: never } | { readonly failed: Failed }> {
  let world: SimulatedWorld | undefined
  try {
    world = make()
    const violation = await world.play(plan)
    return violation === undefined ? { world } : { failed: { world, violation } }
  } catch (cause) {
    return { failed: { world, cause } }
  }
}

async function fastCheck(): Promise<typeof import('fast-check')> {
  try {
    return await import('fast-check')
  } catch (cause) {
    throw new ExpectationError(
      'simulate() needs fast-check, which is not installed: npm install --save-dev fast-check',
      {
        cause,
      },
    )
  }
}

function add(
  result: { -readonly [Key in keyof SimulationResult]: number },
  { transcript, tools, unsent }: SimulatedWorld,
  seen: { readonly offered: Set<string>; readonly unsent: Set<string> },
): void {
  result.conversations++
  for (const name of tools.offered) seen.offered.add(name)
  for (const name of unsent) seen.unsent.add(name)
  for (const { event, disturbed, together, completed, success } of transcript) {
    result.turns++
    if (event !== undefined) result.events++
    if (disturbed) result.disturbed++
    if (together) result.together++
    if (completed && success) result.completed++
  }
}

function failureText(
  flow: FlowConstructor,
  seed: number,
  shrunk: number,
  failed: Failed,
  options: SimulateOptions,
): string {
  const { world, violation } = failed
  const text = violation?.text ?? thrownTextOf(failed.cause)
  const what = violation === undefined ? 'cannot go on' : `breaks a promise: ${violation.promise}`
  const here = violation === undefined ? 'Here it cannot go on:' : `Here it breaks: ${violation.promise}.`
  const noFurther = world?.isHanging === true ? ', and no further because it hangs' : ''
  const lines = [
    `A conversation with flow '${flow.id}' ${what}.`,
    ...text.split('\n').map((line) => `  ${line}`),
    '',
    `Seed ${seed}, shortened ${count(shrunk, 'time')}${noFurther}. To repeat it alone: simulate(${flow.name}, { ..., seeds: [${seed}] })`,
  ]
  if (world === undefined) return lines.join('\n')
  const code = testCode(world.played, {
    flow: flow.name,
    script: world.script,
    providers: [...world.providers],
    given: givenNames.filter((name) => options[name] !== undefined),
    hasStore: options.wrapStore !== undefined,
    broken: `${here} ${text}`,
  })
  return [...lines, '', 'The shortest conversation found, as a test:', '', code].join('\n')
}

/** The options that the printed test takes from the simulation by their names. */
const givenNames = ['services', 'tools', 'limits', 'onTurnError', 'config', 'owner'] as const

/** What was thrown in a conversation, with the line of the author's code. */
function thrownTextOf(cause: unknown): string {
  return ExpectationError.isInstance(cause) ? cause.message : thrownText(cause)
}
