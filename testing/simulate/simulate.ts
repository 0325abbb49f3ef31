/**
 * Random users, faults and schedules against a flow, and the shortest conversation that violates a promise, as test code.
 * `simulate/draw-plans.ts` draws the plans, `simulate/simulated-world.ts` runs them, and `simulate/promises.ts` has what
 * holds for every flow.
 */

import type { FlowConstructor, FlowErrorCode, FlowServices, ModelRequest, SessionStore } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { count, ExpectationError } from '../expectations/expectation-error.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
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
  /** Codes of intended errors: turns may fail with them. Default: none. */
  readonly mayFail?: readonly FlowErrorCode[]
  /** Makes the `services` of one conversation. Default: none. */
  readonly services?: () => FlowServices
  /** Wraps the memory store in another store. Default: no wrapper. */
  readonly wrapStore?: (store: SessionStore) => SessionStore
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
 * Lets random users talk to a flow, over a store that sometimes fails, and checks after every turn that: every reply was
 * committed, no turn was stored twice, everything stored is JSON, a completed session never continued, a turn failed
 * only because of a fault, and the `invariants` hold. Needs `fast-check`.
 *
 * @throws `ExpectationError` (rejects) with the seed and the shortest conversation found, as test code.
 * @example
 * ```ts
 * await simulate(Onboarding, {
 *   seeds: 500,
 *   actors: [({ pick }) => pick(['Ada', 'Ada Lovelace', 'no']), ({ reply }) => reply ?? 'Hello'],
 *   invariants: {
 *     'a name is never lost': (document, transcript) => transcript.length === 0 || document.flow.steps.AskName !== undefined,
 *   },
 * })
 * ```
 */
export async function simulate(flow: FlowConstructor, options: SimulateOptions = {}): Promise<SimulationResult> {
  const { seeds = 100, maxActions = 8, faults = true, restarts = true, together = true } = options
  const { actors = [anyone], invariants = {}, mayFail = [], services } = options
  if (actors.length === 0) throw invalidInput('simulate: actors must have at least one actor.')
  const { model = () => 'All right.', wrapStore = (store: SessionStore) => store } = options
  const fc = await fastCheck()
  const plans = plansOf(fc, { maxActions, faults, restarts, together })
  const worldOptions = { actors, invariants, mayFail, services, model, wrapStore }
  const result = { conversations: 0, turns: 0, disturbed: 0, together: 0, completed: 0 }
  for (const seed of typeof seeds === 'number' ? Array.from({ length: seeds }, (_, index) => index + 1) : seeds) {
    let failed: { readonly world: SimulatedWorld; readonly violation: Violation } | undefined
    let shrunk = -1
    const property = fc.asyncProperty(plans, async (plan: Plan) => {
      const world = new SimulatedWorld(flow, worldOptions)
      const violation = await world.play(plan)
      if (violation === undefined) {
        if (failed === undefined) add(result, world)
        return true
      }
      // The last one that fails is the shortest.
      failed = { world, violation }
      shrunk++
      return false
    })
    await fc.check(property, { seed, numRuns: 1 })
    if (failed !== undefined) throw new ExpectationError(failureText(flow, seed, shrunk, failed, options))
  }
  return result
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
  { world, violation }: { readonly world: SimulatedWorld; readonly violation: Violation },
  { services, wrapStore }: SimulateOptions,
): string {
  const { promise, text } = violation
  const code = testCode(world.played, {
    flow: flow.name,
    script: world.script,
    providers: [...world.providers],
    hasServices: services !== undefined,
    hasStore: wrapStore !== undefined,
    broken: `Here it breaks: ${promise}. ${text}`,
  })
  return [
    `A conversation with flow '${flow.id}' breaks a promise: ${promise}.`,
    ...text.split('\n').map((line) => `  ${line}`),
    '',
    `Seed ${seed}, shortened ${count(shrunk, 'time')}. To repeat it alone: simulate(${flow.name}, { ..., seeds: [${seed}] })`,
    '',
    'The shortest conversation found, as a test:',
    '',
    code,
  ].join('\n')
}
