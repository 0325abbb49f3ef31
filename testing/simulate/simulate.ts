/**
 * Random users, faults and schedules against a flow, and the shortest conversation that violates a promise, as test
 * code. What runs it, `simulate/run-simulation.ts`, is loaded when it is called: most test files do not simulate.
 */
import type { FlowConstructor, FlowErrorCode, ModelRequest, SessionStore } from '../../src/index.js'
import { ObservedPromise } from '../../src/util/observed-promise.js'
import { callPlace, placeText } from '../expectations/call-place.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import { inNextTask } from '../virtual-clock/real-time.js'
import type { Actor, ActorView } from './plan.js'
import type { Invariant, SimulationSurroundings } from './simulated-turn.js'

/** The options of {@link simulate}. Everything is optional. */
export interface SimulateOptions extends SimulationSurroundings {
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
  /** Wraps the memory store in another store. Default: no wrapper. */
  readonly wrapStore?: (store: SessionStore) => SessionStore
  /**
   * Milliseconds of real time in which nothing happens, after which a turn hangs, or an invariant: that fails.
   * `Infinity`: never. Default 2 000.
   */
  readonly hangAfterMs?: number
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
export function simulate(flow: FlowConstructor, options: SimulateOptions = {}): Promise<SimulationResult> {
  const called = placeText('called', callPlace())
  const result = ObservedPromise.of(load().then(({ runSimulation }) => runSimulation(flow, options)))
  inNextTask(() => {
    if (result.isObserved) return
    // Nobody would notice what it finds: the runner reports a rejection that nobody handles.
    void Promise.reject(new ExpectationError(`simulate() was not awaited: await simulate(${flow.name}, ...).${called}`))
  })
  return result
}

function load(): Promise<typeof import('./run-simulation.js')> {
  return import('./run-simulation.js')
}
