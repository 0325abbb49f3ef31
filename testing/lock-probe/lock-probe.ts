/**
 * Observes the locks of an engine: when they are requested, acquired and released. It has gates that keep a lock held,
 * assertions on the order, and a report of a lock that is stuck. It does not change how the engine locks.
 */

import { systemClock } from '../../src/config/clock.js'
import type { Clock, FlowEngine, FlowSession, LockEvent } from '../../src/index.js'
import { checkNumber, checkOptionNames, type OptionNames } from '../../src/util/options.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { defaultHangAfterMs } from '../virtual-clock/hang-watch.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { Gates, type LockGate } from './gates.js'
import { locateTurns } from './locate-turns.js'
import { isWaiting, LockRequests } from './lock-requests.js'
import {
  heldProblem,
  leakProblem,
  notReachedProblem,
  orderProblem,
  overlapProblem,
  serialProblem,
  stuckProblem,
  unseenProblem,
} from './problems.js'

export type { LockGate } from './gates.js'

const unobserved =
  'This LockProbe observes no engine: call observe(engine) before the turns, or pass it to a conversation as onEngine: (engine) => probe.observe(engine).'

/** The options of {@link LockProbe}. @inline */
export interface LockProbeOptions {
  /** The engine's clock. Default: the machine's. */
  readonly clock?: Clock
  /**
   * Milliseconds without progress after which {@link LockProbe.watch} reports a lock with waiting requests. Default 10
   * 000.
   */
  readonly stuckAfterMs?: number
  /**
   * Milliseconds of real time after which {@link LockGate.reached} rejects if no code comes to the gate. `Infinity`:
   * never. Default 2 000.
   */
  readonly hangAfterMs?: number
}

const names: OptionNames<LockProbeOptions> = { clock: true, stuckAfterMs: true, hangAfterMs: true }

/**
 * Observes the locks of an engine: of its turns, of its deletes, and of the application's `withSessionLock`.
 *
 * @example
 * ```ts
 * const probe = new LockProbe()
 * const provider = scriptedProvider(async ({ origin }) => {
 *   await probe.pass(origin.sessionId)
 *   return 'Hello.'
 * })
 * const engine = probe.observe(new FlowEngine({ flows: [Chat], providers: [provider] }))
 * const gate = probe.gate(session)
 * const turns = ['one', 'two', 'three'].map((userMessage) =>
 *   engine.run({ flowName: 'Chat', userMessage, sessionId: session }),
 * )
 * await gate.reached
 * gate.open()
 * await Promise.all(turns)
 * probe.assertSerialized(session)
 * probe.assertFirstInFirstOut(session)
 * await probe.assertReleased()
 * ```
 */
export class LockProbe {
  readonly #clock: Clock
  readonly #stuckAfterMs: number
  readonly #requests = new LockRequests()
  readonly #gates: Gates
  readonly #watchers = new Set<(error: Error) => void>()
  #session: FlowSession | undefined
  #stopWatching: () => void = () => undefined
  #isChecking = false
  readonly #checks = new Set<number>()
  #cancelTimer: (() => void) | undefined

  constructor(options: LockProbeOptions = {}) {
    checkOptionNames('LockProbe', options, names)
    this.#clock = options.clock ?? systemClock
    for (const name of ['stuckAfterMs', 'hangAfterMs'] as const) {
      if (options[name] !== undefined) checkNumber('LockProbe', name, options[name])
    }
    this.#stuckAfterMs = options.stuckAfterMs ?? 10_000
    const afterMs = options.hangAfterMs ?? defaultHangAfterMs
    this.#gates = new Gates({
      afterMs,
      report: (sessionId) => {
        const problem = notReachedProblem(this.#requests, sessionId, afterMs)
        return new ExpectationError(this.#session === undefined ? `${problem}\n${unobserved}` : problem)
      },
    })
  }

  /**
   * Begins to observe an engine. A probe can observe several engines in turn, such as the engines of a conversation
   * that is restarted: pass it to the conversation as `onEngine: (engine) => probe.observe(engine)`.
   *
   * @returns That engine.
   * @throws Error while the engine that this probe observes is open: each engine has its own locks.
   */
  observe(engine: FlowEngine): FlowEngine {
    if (this.#session?.closing === false) {
      throw new Error(
        'A LockProbe observes one engine at a time. Make another probe for this one, or close the other engine.',
      )
    }
    this.#stopWatching()
    this.#requests.endAll()
    this.#session = engine.getFlowSession()
    this.#stopWatching = this.#session.watchLocks((event) => this.#note(event))
    locateTurns(engine, this.#requests, () => this.#clock.now())
    return engine
  }

  /**
   * Makes a closed gate: a call of {@link LockProbe.pass} for this session waits until the gate is opened.
   *
   * @param sessionId - Default: every session.
   */
  gate(sessionId?: string): LockGate {
    return this.#gates.add(sessionId)
  }

  /**
   * Waits while a gate of the session is closed. Call it from code that runs under the lock: a step, a tool double, the
   * function of a scripted model, the application's work under `withSessionLock`.
   */
  pass(sessionId: string): Promise<void> {
    return this.#gates.pass(sessionId)
  }

  /**
   * Settles as `promise` does, or rejects as soon as a lock with waiting requests made no progress for `stuckAfterMs`,
   * for example because a turn runs the engine on its own session. The message names the holder, its place, and who
   * waits.
   */
  async watch<T>(promise: Promise<T>): Promise<T> {
    let report!: (error: Error) => void
    const stuck = new Promise<never>((_, reject) => {
      report = reject
    })
    this.#watchers.add(report)
    this.#arm()
    try {
      return await Promise.race([promise, stuck])
    } finally {
      this.#watchers.delete(report)
      this.#arm()
    }
  }

  /**
   * Checks that the lock of a session never had two holders at the same time.
   *
   * @param sessionId - Default: each session with a request.
   * @throws {@link ExpectationError} that shows what happened; also if no request waited while another one had the
   * lock, and, as every assertion, if no code waited at a gate.
   */
  assertSerialized(sessionId?: string): void {
    this.#requireReachedGates()
    throwIf(serialProblem(this.#requests, sessionId))
  }

  /**
   * Checks that waiting requests acquired the lock of a session in the order in which they were made.
   *
   * @param sessionId - Default: each session with a request.
   * @throws {@link ExpectationError} that shows what happened; also if two requests never waited at the same time.
   */
  assertFirstInFirstOut(sessionId?: string): void {
    this.#requireReachedGates()
    throwIf(orderProblem(this.#requests, sessionId))
  }

  /**
   * Checks that the locks of two sessions were held at the same time.
   *
   * @throws {@link ExpectationError} that shows what happened.
   */
  assertOverlaps(sessionId: string, otherSessionId: string): void {
    this.#requireReachedGates()
    throwIf(overlapProblem(this.#requests, sessionId, otherSessionId))
  }

  /**
   * Checks that the lock of a session has no holder and no waiting request, and that a new request acquires it at once.
   *
   * @param sessionId - Default: each session with a request.
   * @throws {@link ExpectationError} (rejects) that names the holder; also if no request for the lock was seen.
   */
  async assertReleased(sessionId?: string): Promise<void> {
    const session = this.#requireReachedGates()
    for (const id of sessionId === undefined ? this.#requests.sessions() : [sessionId]) {
      throwIf(heldProblem(this.#requests, id))
      if (await this.#isLocked(session, id)) throw new ExpectationError(leakProblem(this.#requests, id))
    }
    throwIf(unseenProblem(this.#requests, sessionId))
  }

  /** The same; fails for a gate at which no code waited: the order that it was to make never happened. */
  #requireReachedGates(): FlowSession {
    const session = this.#observed()
    const { notReached } = this.#gates
    if (notReached !== undefined) throwIf(notReachedProblem(this.#requests, notReached.sessionId))
    return session
  }

  /** The session side of the observed engine. Without one, no assertion can show anything. */
  #observed(): FlowSession {
    if (this.#session === undefined) throw new ExpectationError(unobserved)
    return this.#session
  }

  #note(event: LockEvent): void {
    if (this.#isChecking && event.kind === 'requested') this.#checks.add(event.request)
    if (this.#checks.has(event.request)) return
    this.#requests.note(event, this.#clock.now())
    this.#arm()
  }

  /** Whether a new request has to wait. It does nothing with the lock, also if it acquires it later. */
  async #isLocked(session: FlowSession, sessionId: string): Promise<boolean> {
    let isLocked = true
    const unlock = (): void => {
      isLocked = false
    }
    this.#isChecking = true
    // A closed engine refuses the request: then nothing can wait.
    session.withSessionLock(sessionId, unlock).catch(unlock)
    this.#isChecking = false
    await new VirtualClock().settle()
    return isLocked
  }

  /** Sets the timer for the first moment at which a lock may be stuck, while `watch` is called. */
  #arm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    if (this.#watchers.size === 0) return
    const moments = this.#contended().map(([, moment]) => moment)
    if (moments.length === 0) return
    const wait = Math.max(0, Math.min(...moments) - this.#clock.now())
    this.#cancelTimer = this.#clock.setTimer(() => this.#check(), wait)
  }

  #check(): void {
    const now = this.#clock.now()
    const stuck = this.#contended().find(([, moment]) => moment <= now)
    if (stuck === undefined) {
      this.#arm()
      return
    }
    const [sessionId] = stuck
    const error = new ExpectationError(
      stuckProblem(this.#requests, sessionId, now, this.#gates.closed(sessionId).length),
    )
    for (const report of this.#watchers) report(error)
  }

  /** Each session with waiting requests, and the moment at which it is stuck unless it makes progress. */
  #contended(): (readonly [sessionId: string, moment: number])[] {
    return this.#requests.sessions().flatMap((sessionId) => {
      const requests = this.#requests.of(sessionId)
      if (!requests.some(isWaiting)) return []
      return [[sessionId, Math.max(...requests.map(({ movedAt }) => movedAt)) + this.#stuckAfterMs] as const]
    })
  }
}

function throwIf(problem: string | undefined): void {
  if (problem !== undefined) throw new ExpectationError(problem)
}
