/**
 * A look at the locks of an engine: who asks, who enters, who leaves; gates to keep somebody inside; assertions on the
 * order; and a report where a lock is stuck. It changes nothing about how the engine locks.
 */
import {
  type Clock,
  type FlowEngine,
  type FlowSession,
  type LockEvent,
  systemClock,
  type TurnEvent,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { Gates, type LockGate } from './gates.js'
import { heldProblem, leakProblem, orderProblem, overlapProblem, serialProblem, stuckProblem } from './problems.js'
import { isWaiting, Visits } from './visits.js'

export type { LockGate } from './gates.js'

/** What the constructor of {@link LockProbe} takes. */
export interface LockProbeOptions {
  /** The engine's clock. Default: the machine's. */
  readonly clock?: Clock
  /** Milliseconds without progress after which {@link LockProbe.watch} reports a lock for which somebody waits. Default 10 000. */
  readonly stuckAfterMs?: number
}

/**
 * Watches the locks of one engine: those of its turns and deletes, and those that the application takes with
 * `withSessionLock`.
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
  readonly #visits = new Visits()
  readonly #gates = new Gates()
  readonly #watchers = new Set<(error: Error) => void>()
  #session: FlowSession | undefined
  #isChecking = false
  readonly #checks = new Set<number>()
  #cancelTimer: (() => void) | undefined

  constructor(options: LockProbeOptions = {}) {
    this.#clock = options.clock ?? systemClock
    this.#stuckAfterMs = options.stuckAfterMs ?? 10_000
  }

  /**
   * Begins to watch an engine.
   *
   * @returns That engine.
   * @throws Error where this probe watches one already: engines have locks of their own.
   */
  observe(engine: FlowEngine): FlowEngine {
    if (this.#session !== undefined)
      throw new Error('A LockProbe observes one engine. Make another probe for this one.')
    this.#session = engine.getFlowSession()
    this.#session.watchLocks((event) => this.#note(event))
    const isIn = ({ turnId, flowName }: TurnEvent, ...places: readonly string[]): void => {
      this.#visits.locate(turnId, flowName, places, this.#clock.now())
    }
    engine.on('turn:queued', (event) => isIn(event))
    engine.on('turn:start', (event) => isIn(event))
    for (const name of ['step:enter', 'model:end', 'tool:end'] as const) {
      engine.on(name, (event) => isIn(event, `step '${event.step}'`))
    }
    engine.on('model:start', (event) => isIn(event, `step '${event.step}'`, `a call of model '${event.model}'`))
    engine.on('tool:start', (event) => isIn(event, `step '${event.step}'`, `tool '${event.tool}'`))
    return engine
  }

  /**
   * Makes a closed gate: whoever comes to {@link LockProbe.pass} for this session waits in it until it is opened.
   *
   * @param sessionId - Default: every session.
   */
  gate(sessionId?: string): LockGate {
    return this.#gates.add(sessionId)
  }

  /**
   * What the code inside the lock calls: a step, a tool double, the function of a scripted model, the application's work
   * under `withSessionLock`. Waits while a gate of the session is closed.
   */
  pass(sessionId: string): Promise<void> {
    return this.#gates.pass(sessionId)
  }

  /**
   * Settles as `promise` does, or rejects as soon as a lock for which somebody waits made no progress for
   * `stuckAfterMs`: so it is where a turn runs the engine on its own session. Names who is inside, where, and who waits.
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
   * Checks that turns, deletes and work of one session never were inside its lock together.
   *
   * @param sessionId - Default: each session that was seen.
   * @throws {@link ExpectationError} that shows what happened; also where too little did to tell.
   */
  assertSerialized(sessionId?: string): void {
    throwIf(serialProblem(this.#visits, sessionId))
  }

  /**
   * Checks that those who waited for the lock of a session got it in the order in which they asked.
   *
   * @param sessionId - Default: each session that was seen.
   * @throws {@link ExpectationError} that shows what happened; also where there never were two to choose from.
   */
  assertFirstInFirstOut(sessionId?: string): void {
    throwIf(orderProblem(this.#visits, sessionId))
  }

  /**
   * Checks that two sessions were inside their locks at the same time.
   *
   * @throws {@link ExpectationError} that shows what happened.
   */
  assertOverlaps(sessionId: string, otherSessionId: string): void {
    throwIf(overlapProblem(this.#visits, sessionId, otherSessionId))
  }

  /**
   * Checks that nobody is inside the lock of a session or waits for it, and that a newcomer gets it at once.
   *
   * @param sessionId - Default: each session that was seen.
   * @throws {@link ExpectationError} (rejects) that says who has it.
   */
  async assertReleased(sessionId?: string): Promise<void> {
    for (const id of sessionId === undefined ? this.#visits.sessions() : [sessionId]) {
      throwIf(heldProblem(this.#visits, id))
      if (await this.#isLocked(id)) throw new ExpectationError(leakProblem(this.#visits, id))
    }
  }

  #note(event: LockEvent): void {
    if (this.#isChecking && event.kind === 'requested') this.#checks.add(event.request)
    if (this.#checks.has(event.request)) return
    this.#visits.note(event, this.#clock.now())
    this.#arm()
  }

  /** Whether a newcomer has to wait. What it waits for then never comes, and it does nothing. */
  async #isLocked(sessionId: string): Promise<boolean> {
    if (this.#session === undefined) throw new Error('This LockProbe observes no engine. Call observe(engine) first.')
    let isLocked = true
    const unlock = (): void => {
      isLocked = false
    }
    this.#isChecking = true
    // A closed engine refuses: then nobody can be kept waiting.
    this.#session.withSessionLock(sessionId, unlock).catch(unlock)
    this.#isChecking = false
    await new VirtualClock().settle()
    return isLocked
  }

  /** Sets the timer for the first moment at which a lock may be stuck, while somebody watches. */
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
    const error = new ExpectationError(stuckProblem(this.#visits, sessionId, now, this.#gates.closed(sessionId).length))
    for (const report of this.#watchers) report(error)
  }

  /** Each session for which somebody waits, and the moment at which it is stuck unless something happens. */
  #contended(): (readonly [sessionId: string, moment: number])[] {
    return this.#visits.sessions().flatMap((sessionId) => {
      const visits = this.#visits.of(sessionId)
      if (!visits.some(isWaiting)) return []
      return [[sessionId, Math.max(...visits.map(({ movedAt }) => movedAt)) + this.#stuckAfterMs] as const]
    })
  }
}

function throwIf(problem: string | undefined): void {
  if (problem !== undefined) throw new ExpectationError(problem)
}
