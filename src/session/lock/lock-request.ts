/** A request for the lock of a session: who makes it, how it waits, and what is reported of it. */

/** Something that happened at the lock of a session. */
export interface LockEvent {
  /**
   * In this order: the lock was requested; then it was acquired and released, or the request was refused (it waited too
   * long, was cancelled, the engine closed, or the session belongs to another owner). In place of `released`, `taken`:
   * another request took the lock, because this holder had not settled long after its deadline. Deletes that share a
   * place in the queue are one request.
   */
  readonly kind: 'requested' | 'acquired' | 'released' | 'refused' | 'taken'
  readonly sessionId: string
  /** The same number in every event of one request. Requests are numbered in the order in which they came. */
  readonly request: number
  /** A turn, a delete, a summary that is stored, or work given to `withSessionLock`. */
  readonly holder: 'turn' | 'delete' | 'summary' | 'application'
  /** Of a turn: as in the engine's events. */
  readonly turnId?: string
}

/** A delete that others can share while it waits. */
export interface SharedDelete {
  readonly options: { readonly owner?: string | undefined; readonly unreadable?: boolean | undefined } | undefined
  outcome: Promise<unknown> | undefined
}

/** How a caller waits for the lock. */
export interface LockWait {
  /** Who requests it. The lock is never taken from the application. Default: the application. */
  readonly holder?: LockEvent['holder']
  readonly turnId?: string
  /** Whether it is one of the turns that `maxQueuedTurnsPerSession` counts. */
  readonly counted: boolean
  /**
   * The owner that the caller names, perhaps nobody: the caller does not wait for requests that name another one, nor
   * for the session of another owner. Default: it names none, and waits for all, as all do for it.
   */
  readonly caller?: { readonly owner?: string | undefined } | undefined
  readonly delete?: SharedDelete
  /**
   * The turn that makes the request: for `src/engine/lock/busy.ts`, which knows its type. This folder may not import
   * that.
   */
  readonly turn?: unknown
  /**
   * Called before the caller has to wait; throws where it may not. `queued`: how many counted requests
   * of its owner wait already.
   */
  readonly onBlocked?: (queued: number, lock: HeldLock) => void
  /** Called when the caller has its place in the queue, the last one. */
  readonly onQueued?: (lock: HeldLock) => void
  /** How long it waits, in milliseconds. Default: until it has the lock. */
  readonly timeoutMs?: number
  /** The error of a wait that took too long. */
  readonly onTimeout?: () => unknown
  /** Ends the wait. Default: nothing does. */
  readonly signal?: AbortSignal | undefined
  readonly onAbort?: () => unknown
  /** Called when another request takes the lock. */
  readonly onTaken?: () => void
}

/** A lock that another request has, as the caller that has to wait for it sees it. */
export interface HeldLock {
  /** How its holder requested it. */
  readonly holder: LockWait
  /** The requests that wait for it now, in their order. */
  readonly waiting: () => Iterable<WaitingRequest>
}

/** A request that waits. */
export interface WaitingRequest {
  readonly wait: LockWait
  /** Ends its wait with an error. */
  cancel(reason: unknown): void
}

/** Reports the events of one request to those who watch. */
export type LockReport = (kind: LockEvent['kind']) => void
