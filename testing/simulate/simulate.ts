/**
 * Random users, faults and schedules against a flow, and the shortest conversation that violates a promise, as test
 * code. `simulate/draw-plans.ts` draws the plans, `simulate/simulated-world.ts` runs them, and `simulate/promises.ts`
 * has what holds for every flow.
 */

import type { FlowConstructor, FlowErrorCode, FlowServices, ModelRequest, SessionStore } from '../../src/index.js'
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { shownValue } from '../../src/util/shown-value.js'
import { thrownText } from '../expectations/author-frames.js'
import { count, ExpectationError, show } from '../expectations/expectation-error.js'
import { isListOf } from '../expectations/value-kinds.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import { defaultHangAfterMs } from '../virtual-clock/hang-watch.js'
import { plansOf } from './draw-plans.js'
import { type Actor, type ActorView, anyone, type Plan } from './plan.js'
import type { Violation } from './promises.js'
import type { Invariant } from './simulated-turn.js'
import { SimulatedWorld } from './simulated-world.js'
import { testCode } from './test-code.js'

/** The options of {@link simulate}. Everything is optional. */
export interface SimulateOptions {
  /** How many conversations, with the seeds 1, 2, 3 and so on; or the seeds themselves. Default 100. */
  readonly seeds?: number | readonly number[]
  /** The users; one of them is chosen for each turn. Default: one that sends short texts from a list. */
  readonly actors?: readonly Actor[]
  /** What must hold after each turn, by name: a function that throws or returns `false` if it does not. */
  readonly invariants?: Readonly<Record<string, Invariant>>
  /** The answers of models. Draw with `pick`, or a seed would not repeat them. Default: always `'All right.'`. */
  readonly model?: (request: ModelRequest, pick: ActorView['pick']) => ScriptedReply | Promise<ScriptedReply>
  /** The maximum number of turns and restarts in one conversation. Default 8. */
  readonly maxActions?: number
  /** Whether the store sometimes fails: before or after a call took effect, or by a rival's write. Default `true`. */
  readonly faults?: boolean
  /** Whether the engine is sometimes restarted. Default `true`. */
  readonly restarts?: boolean
  /** Whether two users sometimes send at once, to one engine or to two. Default `true`. */
  readonly together?: boolean
  /**
   * Codes of intended errors: turns may fail with them. A flow whose `busy` is `'interrupt'` needs
   * `'TURN_SUPERSEDED'` here, one whose `busy` is `'reject'` needs `'SESSION_BUSY'`. Default: none.
   */
  readonly mayFail?: readonly FlowErrorCode[]
  /** Makes the `services` of one conversation. Default: none. */
  readonly services?: () => FlowServices
  /** Wraps the memory store in another store. Default: no wrapper. */
  readonly wrapStore?: (store: SessionStore) => SessionStore
  /**
   * Milliseconds of real time in which nothing happens, after which a turn hangs, or an invariant: that fails.
   * `Infinity`: never. Default 2 000.
   */
  readonly hangAfterMs?: number
}

const optionNames: OptionNames<SimulateOptions> = {
  seeds: true,
  actors: true,
  invariants: true,
  model: true,
  maxActions: true,
  faults: true,
  restarts: true,
  together: true,
  mayFail: true,
  services: true,
  wrapStore: true,
  hangAfterMs: true,
}

/** The size of a simulation without a failure: a small number means that little was tried. */
export interface SimulationResult {
  readonly conversations: number
  readonly turns: number
  /** Turns in which the store had a fault. */
  readonly disturbed: number
  /** Turns that ran at the same time as another one. */
  readonly together: number
  /** Turns that completed a session. */
  readonly completed: number
}

/**
 * Lets random users talk to a flow, over a store that sometimes fails, and checks after every turn that: every reply
 * was committed, no turn was stored twice, everything stored is JSON, a completed session never continued, a turn
 * failed only because of a fault, and the `invariants` hold. Needs `fast-check`.
 *
 * @throws `ExpectationError` (rejects) with the seed and the shortest conversation found, as test code. So does a
 * conversation that cannot go on, because an actor, `services` or `wrapStore` throws, or a turn or an invariant hangs;
 * what was thrown is its `cause`. `InvalidInputError` (rejects) for an unknown option, for seeds of another kind, and
 * without a seed or an actor.
 * @example
 * ```ts
 * await simulate(Onboarding, {
 *   seeds: 500,
 *   actors: [({ pick }) => pick(['Ada', 'Ada Lovelace', 'no']), ({ reply }) => reply ?? 'Hello'],
 *   invariants: {
 *     'a name is never lost': (document, transcript) =>
 *       transcript.length === 0 || document.flow.steps.AskName !== undefined,
 *   },
 * })
 * ```
 */
export async function simulate(flow: FlowConstructor, options: SimulateOptions = {}): Promise<SimulationResult> {
  const { seeds = 100, maxActions = 8, faults = true, restarts = true, together = true } = options
  const { actors = [anyone], invariants = {}, mayFail = [], services, hangAfterMs = defaultHangAfterMs } = options
  checkOptionNames('simulate', options, optionNames)
  checkNumber('simulate', 'hangAfterMs', hangAfterMs)
  const seedList = typeof seeds === 'number' ? countedSeeds(seeds) : listedSeeds(seeds)
  if (actors.length === 0) throw invalidInput('simulate: actors must have at least one actor.')
  const { model = () => 'All right.', wrapStore = (store: SessionStore) => store } = options
  const fc = await fastCheck()
  const plans = plansOf(fc, { maxActions, faults, restarts, together })
  const worldOptions = { actors, invariants, mayFail, services, model, wrapStore, hangAfterMs }
  const result = { conversations: 0, turns: 0, disturbed: 0, together: 0, completed: 0 }
  for (const seed of seedList) {
    let failed: Failed | undefined
    let shrunk = -1
    const property = fc.asyncProperty(plans, async (plan: Plan) => {
      // A shorter one would hang as well, each for as long.
      if (failed?.world?.isHanging === true) return true
      const played = await play(() => new SimulatedWorld(flow, worldOptions), plan)
      if (played.failed === undefined) {
        if (failed === undefined) add(result, played.world)
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
  return result
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

function add(result: { -readonly [Key in keyof SimulationResult]: number }, { transcript }: SimulatedWorld): void {
  result.conversations++
  for (const { disturbed, together, completed, success } of transcript) {
    result.turns++
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
  { services, wrapStore }: SimulateOptions,
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
    hasServices: services !== undefined,
    hasStore: wrapStore !== undefined,
    broken: `${here} ${text}`,
  })
  return [...lines, '', 'The shortest conversation found, as a test:', '', code].join('\n')
}

/** What was thrown in a conversation, with the line of the author's code. */
function thrownTextOf(cause: unknown): string {
  return ExpectationError.isInstance(cause) ? cause.message : thrownText(cause)
}
