/**
 * Random users, faults and schedules against a flow, and the shortest conversation that violates a promise, as test
 * code. `simulate/run-simulation.ts` runs it.
 */
import type { FlowConstructor } from '../../src/index.js'
import { ObservedPromise } from '../../src/util/observed-promise.js'
import { callPlace, placeText } from '../expectations/call-place.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { inNextTask } from '../virtual-clock/real-time.js'
import { runSimulation } from './run-simulation.js'
import type { SimulateOptions, SimulationResult } from './simulate-options.js'

/**
 * Lets random users talk to a flow, over a store that sometimes fails, and checks after every turn that: every reply
 * was committed, no turn was stored twice, everything stored is JSON, a completed session never continued, a turn
 * failed only because of a fault, and the `invariants` hold. Needs `fast-check`.
 *
 * @throws `ExpectationError` (rejects) with the seed and the shortest conversation found, as test code. So does a
 * conversation that cannot go on, because an actor, `services` or `wrapStore` throws, or a turn or an invariant hangs;
 * what was thrown is its `cause`. `InvalidInputError` (rejects) for an unknown option, for seeds of another kind, and
 * without a seed or an actor. If the promise is not awaited, an unhandled rejection reports it.
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
export function simulate(flow: FlowConstructor, options: SimulateOptions = {}): Promise<SimulationResult> {
  const called = placeText('called', callPlace())
  const result = ObservedPromise.of(runSimulation(flow, options))
  inNextTask(() => {
    if (result.isObserved) return
    // Its result would be lost. Every runner reports an unhandled rejection.
    void Promise.reject(new ExpectationError(`simulate() was not awaited: await simulate(${flow.name}, ...).${called}`))
  })
  return result
}
