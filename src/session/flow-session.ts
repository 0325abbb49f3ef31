/**
 * The sessions of one engine: their locks, and the access to their documents. Turns are handled elsewhere, in
 * `src/engine`. It counts the active work, because `close()` waits for it.
 */
import { type Clock, monotonicTime } from '../config/clock.js'
import { EngineClosedError } from '../errors/engine-errors.js'
import { onAbort } from '../util/on-abort.js'
import { LockHolder } from './lock/lock-line.js'
import type { HeldLock, LockEvent, LockReport, LockWait, SharedDelete } from './lock/lock-request.js'
import { SessionLock } from './lock/session-lock.js'
import { startWaitTimer } from './lock/wait-timer.js'
import { operationsAfterDeadline, type StoreAccess } from './store-access.js'

/** The times that the locks depend on, in milliseconds. */
export interface LockTiming {
  readonly clock: Clock
  /** How long a holder may work. After that and some store operations, a waiting request takes its lock. */
  readonly turnTimeoutMs: number
  /** How long one store operation may take. */
  readonly storeTimeoutMs: number
  /** Called when a request takes the lock from a holder. */
  readonly onTaken?: (sessionId: string, holder: LockEvent['holder'], turnId: string | undefined) => void
}

const applicationWait: LockWait = { counted: false }

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
  readonly #timing: LockTiming
  readonly #lock: SessionLock
  readonly #watchers = new Set<(event: LockEvent) => void>()
  #requests = 0
  #active = 0
  #closing = false
  #onIdle: (() => void) | undefined

  /** @internal */
  constructor(access: StoreAccess, timing: LockTiming) {
    this.access = access
    this.#timing = timing
    this.#lock = new SessionLock(() => monotonicTime(timing.clock))
  }

  /**
   * Runs `work` while no turn, delete or other work of this session runs in this engine: first come, first served.
   * Different sessions run at the same time. The lock works within this process; across processes the compare-and-swap
   * of the store decides. A turn of the same session that `work` runs and awaits would wait for itself. `work` has no
   * deadline, and its lock is never taken from it: make sure that it ends.
   *
   * @param sessionId - Which session; `undefined` or empty takes no lock.
   * @returns What `work` returns or rejects with.
   * @throws `EngineClosedError` if the engine closes before the lock is free.
   */
  withSessionLock<T>(sessionId: string | undefined, work: () => T | Promise<T>): Promise<T> {
    return this.hold(
      sessionId,
      () => work(),
      () => applicationWait,
    )
  }

  /**
   * Reports each request for the lock of a session, and when the lock is acquired and released: for tests and
   * diagnosis. A turn without a session ID is reported when it locks the ID that it has made; work that never has an ID
   * takes no lock, and is not reported. What the listener throws is ignored.
   *
   * @returns A function that removes the listener.
   */
  watchLocks(listener: (event: LockEvent) => void): () => void {
    this.#watchers.add(listener)
    return () => this.#watchers.delete(listener)
  }

  /** Whether a caller would have to wait for the lock of a session. @internal */
  isLocked(sessionId: string, caller: LockWait['caller']): boolean {
    return this.#lock.isClosedTo(sessionId, caller)
  }

  /** The holders of a session's lock: more than one if their callers name different owners. @internal */
  holdersOf(sessionId: string): readonly LockHolder[] {
    return this.#lock.holdersOf(sessionId)
  }

  /** How many sessions are locked. @internal */
  get locked(): number {
    return this.#lock.size
  }

  /** Whether new work is refused. @internal */
  get closing(): boolean {
    return this.#closing
  }

  /**
   * As {@link withSessionLock}, with the holder as the argument of `work`. `waitOf` returns how the caller waits; it is
   * called only when that is needed. If the request that a caller waits for turns out to hold another owner's session,
   * `work` runs without the lock and its holder is marked as a stranger. @internal
   *
   * @param isAfterTurn - Whether this is work that a turn started and did not wait for. A closing engine still gives it
   * a lock that is free. Default `false`.
   */
  async hold<T>(
    sessionId: string | undefined,
    work: (holder: LockHolder) => T | Promise<T>,
    waitOf: () => LockWait,
    isAfterTurn = false,
  ): Promise<T> {
    if (this.#closing && !isAfterTurn) throw new EngineClosedError()
    const holder = new LockHolder(waitOf)
    if (sessionId !== undefined && sessionId !== '') {
      holder.report = this.#reportOf(sessionId, waitOf)
      holder.report?.('requested')
      if (!this.#lock.tryAcquire(sessionId, holder)) await this.#wait(sessionId, holder)
      // A stranger leaves the queue without the lock, so `close()` does not wait for it: it must not begin.
      if (holder.isStranger && this.#closing) throw new EngineClosedError()
    }
    holder.hasBegun = true
    this.#active++
    holder.report?.('acquired')
    try {
      return await work(holder)
    } finally {
      this.#end(holder)
    }
  }

  /**
   * Releases the holder's lock and acquires the lock of a new session, whose ID no other caller knows yet. If an
   * application's `generateId` returned an ID that is already locked, the holder goes on without a lock and the store
   * refuses the second session. @internal
   */
  moveTo(holder: LockHolder, sessionId: string, owner: string | undefined): void {
    if (holder.isTaken || holder.hasEnded) return
    if (holder.sessionId === sessionId) {
      this.setOwner(holder, { owner })
      return
    }
    this.#release(holder)
    holder.report = this.#reportOf(sessionId, holder.waitOf)
    holder.report?.('requested')
    const isAcquired = this.#lock.tryAcquire(sessionId, holder)
    holder.report?.(isAcquired ? 'acquired' : 'refused')
    if (isAcquired) this.setOwner(holder, { owner })
    else holder.report = undefined
  }

  /**
   * Releases the holder's lock and waits for the lock of a session that other callers may know. @internal
   *
   * @param signal - The turn's signal. If it aborts, the request leaves the queue.
   * @throws The error of the wait, if it fails.
   */
  async moveToStored(holder: LockHolder, sessionId: string, signal: AbortSignal): Promise<void> {
    if (holder.isTaken || holder.hasEnded || holder.sessionId === sessionId) return
    this.#release(holder)
    holder.isStranger = false
    holder.report = this.#reportOf(sessionId, holder.waitOf)
    holder.report?.('requested')
    if (!this.#lock.tryAcquire(sessionId, holder)) await this.#wait(sessionId, holder, signal)
    // If the turn was aborted during the wait, nothing else releases the lock.
    if (holder.hasEnded) this.#release(holder)
    else if (!holder.isStranger) holder.report?.('acquired')
  }

  /**
   * Records the owner of the session that a holder has loaded. Requests of other owners stop waiting for the
   * holder. @internal
   *
   * @param stored - The document as loaded; `undefined` if nothing is stored.
   */
  setOwner(holder: LockHolder, stored: unknown): void {
    this.#lock.setOwner(holder, stored)
  }

  /** The holder's lock as its waiters see it; `undefined` if it has none, or if no request waits for it. @internal */
  awaitedLock(holder: LockHolder): HeldLock | undefined {
    const { sessionId } = holder
    if (sessionId === undefined || holder.isTaken || !holder.isAwaited) return undefined
    return this.#lock.heldLock(sessionId, holder.waitOf().caller)
  }

  /** The delete that a caller's request would wait directly behind, if that request is a delete. @internal */
  lastDelete(sessionId: string, caller: LockWait['caller']): SharedDelete | undefined {
    return this.#lock.lastWait(sessionId, caller)?.delete
  }

  /** Refuses waiting and new work; resolves when the active work has ended. @internal */
  close(): Promise<void> {
    this.#closing = true
    this.#lock.refuseWaiters(() => new EngineClosedError())
    return new Promise((resolve) => {
      if (this.#idle) resolve()
      else this.#onIdle = resolve
    })
  }

  #end(holder: LockHolder): void {
    // A holder whose lock was taken is not counted any more.
    if (holder.isTaken) return
    this.#release(holder)
    holder.end()
    this.#active--
    if (this.#onIdle !== undefined && this.#idle) this.#onIdle()
  }

  #release(holder: LockHolder): void {
    holder.report?.('released')
    holder.report = undefined
    this.#lock.release(holder)
  }

  /** Whether no work is active. A request that has just acquired a lock is not counted yet, but has a lock. */
  get #idle(): boolean {
    return this.#active === 0 && this.#lock.size === 0
  }

  /** Reports the events of a new request; `undefined` if there are no listeners. */
  #reportOf(sessionId: string, waitOf: () => LockWait): LockReport | undefined {
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

  /** Waits until a holder has the lock, or is known to be a stranger. */
  async #wait(sessionId: string, holder: LockHolder, signal?: AbortSignal): Promise<void> {
    try {
      const wait = holder.waitOf()
      if (this.#lock.isForeign(sessionId, wait.caller)) holder.isStranger = true
      else await this.#queue(sessionId, holder, wait, signal)
      holder.check()
    } catch (error) {
      this.#refuse(holder)
      throw error
    }
    if (holder.isStranger) this.#refuse(holder)
  }

  #refuse(holder: LockHolder): void {
    if (!holder.isTaken) holder.report?.('refused')
    holder.report = undefined
    this.#lock.release(holder)
  }

  async #queue(sessionId: string, holder: LockHolder, wait: LockWait, signal?: AbortSignal): Promise<void> {
    const lock = this.#lock.heldLock(sessionId, wait.caller)
    wait.onBlocked?.(this.#lock.queued(sessionId, wait.caller?.owner), lock)
    // A listener of `turn:queued` may have closed the engine just now, after it had refused the waiting requests.
    if (this.#closing) throw new EngineClosedError()
    if (wait.signal?.aborted === true) throw wait.onAbort?.()
    const waiter = this.#lock.enqueue(sessionId, holder, wait)
    let stopListening: (() => void) | undefined
    let stopTimer: (() => void) | undefined
    let stopFollowing: (() => void) | undefined
    try {
      stopFollowing = onAbort(signal, () => waiter.cancel(signal?.reason))
      // A signal that is not the platform's own may throw here, and so may the clock.
      stopListening = onAbort(wait.signal, () => waiter.cancel(wait.onAbort?.()))
      stopTimer = startWaitTimer(waiter, {
        clock: this.#timing.clock,
        holder: () => this.#lock.holderOf(sessionId, wait.caller) as LockHolder,
        holders: () => this.#lock.holdersOf(sessionId),
        takeableAt: (current) => this.#takeableAt(current),
        take: (current) => this.#take(sessionId, current),
      })
      wait.onQueued?.(lock)
      await waiter.settled
    } finally {
      waiter.leave()
      stopTimer?.()
      stopListening?.()
      stopFollowing?.()
    }
  }

  /** The monotonic time from which a waiting request may take the lock from a holder. */
  #takeableAt({ since, hasBegun, waitOf }: LockHolder): number {
    const { turnTimeoutMs, storeTimeoutMs } = this.#timing
    // Work begins as soon as it has the lock, unless the runtime dropped it while it waited.
    if (!hasBegun) return since + storeTimeoutMs
    if ((waitOf().holder ?? 'application') === 'application') return Number.POSITIVE_INFINITY
    return since + turnTimeoutMs + operationsAfterDeadline * storeTimeoutMs
  }

  #take(sessionId: string, holder: LockHolder): void {
    this.#lock.take(holder)
    holder.report?.('taken')
    if (holder.hasBegun) this.#active--
    const { holder: kind = 'application', turnId, onTaken } = holder.waitOf()
    onTaken?.()
    this.#timing.onTaken?.(sessionId, kind, turnId)
  }
}
