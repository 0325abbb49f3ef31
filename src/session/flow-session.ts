/**
 * The sessions of one engine: who may touch a session now, and the way to its document. It decides nothing about
 * turns; it counts the work under way, so that a closing engine knows what to wait for.
 */
import { EngineClosedError } from '../errors/engine-errors.js'
import { onAbort } from '../util/on-abort.js'
import { type LockRequest, SessionLock } from './session-lock.js'
import type { StoreAccess } from './store-access.js'

/** Something that happened at the lock of a session. */
export interface LockEvent {
  /** In this order: it asked; then it entered and left, or was refused (its wait was too long, or cancelled). */
  readonly kind: 'asked' | 'entered' | 'left' | 'refused'
  readonly sessionId: string
  /** The same in every event of one visit. Visits count up in the order in which they asked. */
  readonly visit: number
  /** A turn, a delete, or work given to {@link FlowSession.withSessionLock}. */
  readonly visitor: 'turn' | 'delete' | 'work'
  /** Of a turn: as in the engine's events. */
  readonly turnId?: string
}

/** What goes on under a session's lock when the result of the work before it is out. */
export interface Sequel {
  /** Whose lock: the one that is held, or that of a session which the work began. */
  readonly sessionId: string
  /** Must not reject. */
  run(): Promise<void>
}

/** How a caller waits for the lock. */
export interface LockWait {
  /** Who it is, for {@link FlowSession.watchLocks}. Default: work of the application. */
  readonly visitor?: LockEvent['visitor']
  readonly turnId?: string
  /** Whether it is one of the turns that `maxQueuedTurnsPerSession` counts. */
  readonly counted: boolean
  /** Called where the caller would have to wait, before it does; throws where it may not. */
  readonly onBlocked?: (queued: number) => void
  /** Gives the place up with an error when it was waited long enough; returns a function that stops that. Default: never. */
  readonly atDeadline?: (giveUp: (error: unknown) => void) => () => void
  /** Ends the wait. Default: nothing does. */
  readonly signal?: AbortSignal | undefined
  readonly onAbort?: () => unknown
}

const applicationWait: LockWait = { counted: false }

/** Tells those who watch of one visit. */
type Tell = (kind: LockEvent['kind']) => void

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
  #visits = 0
  #active = 0
  #closing = false
  #onIdle: (() => void) | undefined

  /** @internal */
  constructor(access: StoreAccess) {
    this.access = access
  }

  /**
   * Runs `work` while no turn, delete or other work of this session runs in this engine: first come, first served.
   * Different sessions run side by side. The lock is the process's own; across processes the store's compare-and-swap
   * decides. Running a turn of the same session inside `work` and awaiting it would wait for itself.
   *
   * @param sessionId - Which session; `undefined` or empty takes no lock.
   * @returns What `work` returns or rejects with.
   * @throws `EngineClosedError` where the engine closes before the lock is free.
   */
  withSessionLock<T>(sessionId: string | undefined, work: () => T | Promise<T>): Promise<T> {
    return this.hold(sessionId, work, () => applicationWait)
  }

  /**
   * Tells who asks for the lock of a session, enters, and leaves: for tests and diagnosis. Work without a session ID takes
   * no lock, and is not told. What the listener throws is ignored.
   *
   * @returns A function that takes the listener back.
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
   * As {@link withSessionLock}, with a say in the waiting, which is asked for where there is any. @internal
   *
   * @param turn - Where the work leaves what is to follow it. Default: nothing follows.
   */
  async hold<T>(
    sessionId: string | undefined,
    work: () => T | Promise<T>,
    waitOf: () => LockWait,
    turn?: { readonly sequel: Sequel | undefined },
  ): Promise<T> {
    if (this.#closing) throw new EngineClosedError()
    const locks = sessionId !== undefined && sessionId !== ''
    const tell = locks && this.#watchers.size > 0 ? this.#visit(sessionId, waitOf()) : undefined
    tell?.('asked')
    if (locks && !this.#lock.tryAcquire(sessionId)) {
      try {
        await this.#wait(sessionId, waitOf())
      } catch (error) {
        tell?.('refused')
        throw error
      }
    }
    this.#active++
    tell?.('entered')
    try {
      return await work()
    } finally {
      const sequel = turn?.sequel
      if (sequel === undefined) this.#leave(locks ? sessionId : undefined, tell)
      else this.#goOn(sequel, locks ? sessionId : undefined, tell, waitOf)
    }
  }

  #leave(sessionId: string | undefined, tell: Tell | undefined): void {
    tell?.('left')
    if (sessionId !== undefined) this.#lock.release(sessionId)
    this.#active--
    if (this.#idle) this.#onIdle?.()
  }

  /** Runs a sequel in the place of the work that left it: with its lock, or with that of the session that it began. */
  #goOn(sequel: Sequel, held: string | undefined, tell: Tell | undefined, waitOf: () => LockWait): void {
    const { sessionId } = sequel
    if (sessionId === held) {
      const leave = (): void => this.#leave(held, tell)
      sequel.run().then(leave, leave)
      return
    }
    // Who learned the ID during the turn may have been quicker: then there is a later turn to follow.
    const isFree = this.#lock.tryAcquire(sessionId)
    if (isFree) {
      this.#active++
      const tellNext = this.#watchers.size > 0 ? this.#visit(sessionId, waitOf()) : undefined
      tellNext?.('asked')
      tellNext?.('entered')
      const leave = (): void => this.#leave(sessionId, tellNext)
      sequel.run().then(leave, leave)
    }
    this.#leave(held, tell)
  }

  /** Refuses waiters and new work; resolves when the work under way has ended. @internal */
  close(): Promise<void> {
    this.#closing = true
    this.#lock.refuseWaiters(() => new EngineClosedError())
    return new Promise((resolve) => {
      if (this.#idle) resolve()
      else this.#onIdle = resolve
    })
  }

  /** Whether nothing runs. Who was just given a lock holds it already, but does not count as active yet. */
  get #idle(): boolean {
    return this.#active === 0 && this.#lock.size === 0
  }

  /** How one visit is told to those who watch. */
  #visit(sessionId: string, { visitor = 'work', turnId }: LockWait): Tell {
    const visit = ++this.#visits
    const who = turnId === undefined ? { visitor } : { visitor, turnId }
    return (kind) => {
      for (const watcher of this.#watchers) {
        try {
          watcher(Object.freeze({ kind, sessionId, visit, ...who }))
        } catch {
          // Who watches must not change what happens at the lock.
        }
      }
    }
  }

  async #wait(sessionId: string, wait: LockWait): Promise<void> {
    wait.onBlocked?.(this.#lock.queued(sessionId))
    // A listener may have closed the engine just now; waiters were turned away already.
    if (this.#closing) throw new EngineClosedError()
    if (wait.signal?.aborted === true) throw wait.onAbort?.()
    // A signal of the caller's own making may throw here: before there is a place in line to lose.
    let request: LockRequest | undefined
    const stopListening = onAbort(wait.signal, () => request?.leave(wait.onAbort?.()))
    request = this.#lock.enqueue(sessionId, wait.counted)
    const { held, leave } = request
    const stopDeadline = wait.atDeadline?.(leave)
    try {
      await held
    } finally {
      stopDeadline?.()
      stopListening()
    }
  }
}
