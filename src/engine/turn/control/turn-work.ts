/**
 * The work of one turn: its deadline and its abort. After an abort, the results, errors and events of code that still
 * runs are ignored.
 */
import { monotonicTime } from '../../../config/clock.js'
import type { Deadline } from '../../../config/deadlines.js'
import { TurnAbortedError, TurnTimeoutError } from '../../../errors/engine-errors.js'
import type { FlowError } from '../../../errors/flow-error.js'
import type { LockHolder } from '../../../session/lock/lock-line.js'
import { onAbort } from '../../../util/on-abort.js'
import type { EngineContext, RunningTurn } from '../../core/engine-context.js'

/** The deadline of a turn, its abort, and the waits that an abort ends. */
export class TurnWork implements RunningTurn {
  /** When the turn got its session's lock, in the clock's monotonic time; `Infinity` before. */
  startedAt: number = Number.POSITIVE_INFINITY
  onSettled: (() => void) | undefined
  readonly #engine: EngineContext
  #lockHolder: LockHolder | undefined
  #controller: AbortController | undefined
  #aborted: FlowError | undefined
  /** See {@link own}. */
  #own: FlowError | undefined
  #reject: ((error: FlowError) => void) | undefined
  /** Ends the turn's current waits: a timer, an attempt at a call, parallel tools. */
  #pending: Set<(reason: FlowError) => void> | undefined
  #isFinished = false
  #deadline: Deadline | undefined
  #stopListening: (() => void) | undefined

  constructor(engine: EngineContext) {
    this.#engine = engine
  }

  /** The turn's deadline, in the clock's monotonic time. */
  get deadlineAt(): number {
    return this.startedAt + this.#engine.limits.turnTimeoutMs
  }

  /** Fires when the turn is aborted. Made on first use, because most turns never need it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get isAborted(): boolean {
    return this.#aborted !== undefined
  }

  /** Whether {@link abort} would abort the turn: it is not aborted yet, and its commit has not begun. */
  get isAbortable(): boolean {
    return this.#aborted === undefined && !this.#isFinished
  }

  /** Starts the deadline. {@link end} must follow. @param lockHolder - The holder of the session's lock. */
  begin(lockHolder?: LockHolder): void {
    const { clock, deadlines, limits, turns } = this.#engine
    this.#lockHolder = lockHolder
    const now = monotonicTime(clock)
    const isAgain = this.startedAt < now
    if (!isAgain) this.startedAt = now
    const leftMs = isAgain ? Math.max(1, this.deadlineAt - now) : limits.turnTimeoutMs
    const end = (failure: FlowError | undefined): void => {
      if (failure === undefined) this.expire()
      else this.abort(failure)
    }
    this.#deadline = deadlines.set(leftMs, end, isAgain)
    turns.add(this)
  }

  /** Aborts the turn with its caller's signal. */
  followSignal(signal: AbortSignal | undefined): void {
    if (signal === undefined) return
    const abort = (): void => this.abort(new TurnAbortedError({ cause: signal.reason }))
    this.#stopListening = onAbort(signal, abort)
    if (signal.aborted) abort()
  }

  /** Aborts the turn, if it is {@link isAbortable}: only the first call counts. */
  abort(error: FlowError): void {
    if (!this.isAbortable) return
    this.#aborted = error
    this.#controller?.abort(error)
    for (const end of this.#pending ?? []) end(error)
    this.#reject?.(error)
  }

  /** Aborts the turn because its time is over. */
  expire(): void {
    const { turnTimeoutMs: timeoutMs } = this.#engine.limits
    const isAwaited = this.#lockHolder?.isAwaited === true
    this.abort(new TurnTimeoutError({ timeoutMs, phase: 'turn', isAwaited }))
  }

  /** Registers `end`, which an abort calls, until {@link removePending}. It must not throw. */
  addPending(end: (reason: FlowError) => void): void {
    this.#pending ??= new Set()
    this.#pending.add(end)
  }

  removePending(end: (reason: FlowError) => void): void {
    this.#pending?.delete(end)
  }

  /** Marks an error as the engine's own failure of this turn, if it is thrown through flow code. */
  own(error: FlowError): FlowError {
    this.#own = error
    return error
  }

  /**
   * Whether {@link own} marked an error. An abort needs no mark, because it ends the turn before an error of flow code
   * can.
   */
  isOwn(error: FlowError): boolean {
    return error === this.#own
  }

  /** Runs `work` until it settles or the turn is aborted, whichever comes first. */
  race<T>(work: () => Promise<T>): Promise<T> {
    if (this.#aborted !== undefined) return Promise.reject(this.#aborted)
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work().then(resolve, reject)
    })
  }

  /** Runs a part of the work of {@link race} to its end even if the turn is aborted, and then throws the abort. */
  async uninterrupted(work: () => Promise<void>): Promise<void> {
    const reject = this.#reject
    this.#reject = undefined
    try {
      await work()
    } finally {
      this.#reject = reject
    }
    this.check()
  }

  /**
   * Stops code that continues after the turn was aborted. Call it after each `await` of the flow's or a caller's code.
   */
  check(): void {
    if (this.#aborted !== undefined) throw this.#aborted
  }

  /**
   * Called when the flow's part is done. After this the turn cannot be aborted and has no deadline; it can still fail.
   */
  finish(): void {
    this.#isFinished = true
    this.#deadline?.cancel()
  }

  /** Called when the turn has settled. */
  end(): void {
    this.#deadline?.cancel()
    this.#engine.turns.delete(this)
    this.#stopListening?.()
    this.onSettled?.()
  }
}
