/**
 * The sessions of one engine: who holds the lock of a session, and the access to its document. It decides nothing about
 * turns. It counts the work under way, so that an engine that closes knows what to wait for.
 */
import { EngineClosedError } from '../errors/engine-errors.js'
import { onAbort } from '../util/on-abort.js'
import { type LockRequest, SessionLock } from './session-lock.js'
import type { StoreAccess } from './store-access.js'

/** Something that happened at the lock of a session. */
export interface LockEvent {
  /**
   * In this order: the lock was requested; then it was acquired and released, or the request was refused (it waited too
   * long, was cancelled, or the engine closed).
   */
  readonly kind: 'requested' | 'acquired' | 'released' | 'refused'
  readonly sessionId: string
  /** The same number in every event of one request. Requests are numbered in the order in which they came. */
  readonly request: number
  /** A turn, a delete, a summary that is stored, or work given to {@link FlowSession.withSessionLock}. */
  readonly holder: 'turn' | 'delete' | 'summary' | 'application'
  /** Of a turn: as in the engine's events. */
  readonly turnId?: string
}

/** How a caller waits for the lock. */
export interface LockWait {
  /** Who requests it, for {@link FlowSession.watchLocks}. Default: the application. */
  readonly holder?: LockEvent['holder']
  readonly turnId?: string
  /** Whether it is one of the turns that `maxQueuedTurnsPerSession` counts. */
  readonly counted: boolean
  /** Called before the caller has to wait; throws where it may not. */
  readonly onBlocked?: (queued: number) => void
  /** Sets the deadline of the wait: calls `abort` with an error then. Returns a function that cancels it. Default: none. */
  readonly atDeadline?: (abort: (error: unknown) => void) => () => void
  /** Ends the wait. Default: nothing does. */
  readonly signal?: AbortSignal | undefined
  readonly onAbort?: () => unknown
}

const applicationWait: LockWait = { counted: false }

/** Reports the events of one request to those who watch. */
type Report = (kind: LockEvent['kind']) => void

/**
 * The session facade of an engine; `engine.getFlowSession()` returns it.
 *
 * @example
 * ```ts
 * await engine.getFlowSession().withSessionLock(sessionId, async () => {
 *   // No turn of this session runs in this engine now.
 * })
 * ```
 */
export class FlowSession {
  /** @internal */
  readonly access: StoreAccess
  readonly #lock = new SessionLock()
  readonly #watchers = new Set<(event: LockEvent) => void>()
  #requests = 0
  #active = 0
  #closing = false
  #onIdle: (() => void) | undefined

  /** @internal */
  constructor(access: StoreAccess) {
    this.access = access
  }

  /**
   * Runs `work` while no turn, delete or other work of this session runs in this engine: first come, first served.
   * Different sessions run at the same time. The lock works within this process; across processes the compare-and-swap of
   * the store decides. A turn of the same session that `work` runs and awaits would wait for itself.
   *
   * @param sessionId - Which session; `undefined` or empty takes no lock.
   * @returns What `work` returns or rejects with.
   * @throws `EngineClosedError` where the engine closes before the lock is free.
   */
  withSessionLock<T>(sessionId: string | undefined, work: () => T | Promise<T>): Promise<T> {
    return this.hold(sessionId, work, () => applicationWait)
  }

  /**
   * Reports each request for the lock of a session, and when the lock is acquired and released: for tests and diagnosis.
   * Work without a session ID takes no lock, and is not reported. What the listener throws is ignored.
   *
   * @returns A function that removes the listener.
   */
  watchLocks(listener: (event: LockEvent) => void): () => void {
    this.#watchers.add(listener)
    return () => this.#watchers.delete(listener)
  }

  /** How many sessions are locked now. @internal */
  get locked(): number {
    return this.#lock.size
  }

  /** Whether new work is refused. @internal */
  get closing(): boolean {
    return this.#closing
  }

  /**
   * As {@link withSessionLock}. `waitOf` says how to wait, and is called only where that matters. @internal
   *
   * @param isAfterTurn - Whether a turn has left the work behind: an engine that closes lets it have a lock that is free.
   * Default `false`.
   */
  async hold<T>(
    sessionId: string | undefined,
    work: () => T | Promise<T>,
    waitOf: () => LockWait,
    isAfterTurn = false,
  ): Promise<T> {
    if (this.#closing && !isAfterTurn) throw new EngineClosedError()
    const locked = sessionId === '' ? undefined : sessionId
    const report = locked === undefined ? undefined : this.#reportOf(locked, waitOf)
    report?.('requested')
    if (locked !== undefined && !this.#lock.tryAcquire(locked)) {
      try {
        await this.#wait(locked, waitOf())
      } catch (error) {
        report?.('refused')
        throw error
      }
    }
    this.#active++
    report?.('acquired')
    try {
      return await work()
    } finally {
      this.#release(locked, report)
    }
  }

  /** Refuses waiting and new work; resolves when the work under way has ended. @internal */
  close(): Promise<void> {
    this.#closing = true
    this.#lock.refuseWaiters(() => new EngineClosedError())
    return new Promise((resolve) => {
      if (this.#idle) resolve()
      else this.#onIdle = resolve
    })
  }

  #release(sessionId: string | undefined, report: Report | undefined): void {
    report?.('released')
    if (sessionId !== undefined) this.#lock.release(sessionId)
    this.#active--
    if (this.#onIdle !== undefined && this.#idle) this.#onIdle()
  }

  /** Whether nothing runs. A request that has just acquired a lock is not counted as active yet. */
  get #idle(): boolean {
    return this.#active === 0 && this.#lock.size === 0
  }

  /** Numbers a request, for those who watch; `undefined` where nobody does. */
  #reportOf(sessionId: string, waitOf: () => LockWait): Report | undefined {
    if (this.#watchers.size === 0) return undefined
    const { holder = 'application', turnId } = waitOf()
    const request = ++this.#requests
    const who = turnId === undefined ? { holder } : { holder, turnId }
    return (kind) => {
      for (const watcher of this.#watchers) {
        try {
          watcher(Object.freeze({ kind, sessionId, request, ...who }))
        } catch {
          // A listener must not change what happens at the lock.
        }
      }
    }
  }

  async #wait(sessionId: string, wait: LockWait): Promise<void> {
    wait.onBlocked?.(this.#lock.queued(sessionId))
    // A listener of `turn:queued` may have closed the engine just now, after it refused those who were waiting.
    if (this.#closing) throw new EngineClosedError()
    if (wait.signal?.aborted === true) throw wait.onAbort?.()
    let request: LockRequest | undefined
    // A signal that is not the platform's may throw here: before there is a place in the queue to lose.
    const stopListening = onAbort(wait.signal, () => request?.cancel(wait.onAbort?.()))
    request = this.#lock.enqueue(sessionId, wait.counted)
    const { held, cancel } = request
    const stopDeadline = wait.atDeadline?.(cancel)
    try {
      await held
    } finally {
      stopDeadline?.()
      stopListening()
    }
  }
}
