/** A request for the lock of a session: who makes it, how it waits, and the events that are reported about it. */

/** Something that happened at the lock of a session. */
export interface LockEvent {
  /**
   * First `requested`. Then either `acquired` and `released`, or `refused`: the request waited too long or was
   * cancelled, the engine closed, or the session belongs to another owner. `taken` replaces `released` if another
   * request took the lock because this holder was still running long after its deadline. Deletes that share a place in
   * the queue are one request.
   */
  readonly kind: 'requested' | 'acquired' | 'released' | 'refused' | 'taken'
  readonly sessionId: string
  /** The same number in every event of one request. Requests are numbered in the order of their arrival. */
  readonly request: number
  /** A turn, a delete, the save of a summary, or work passed to `withSessionLock`. */
  readonly holder: 'turn' | 'delete' | 'summary' | 'application'
  /** The ID of the turn, as in the engine's events. */
  readonly turnId?: string
}

/** A delete that others can share while it waits. */
export interface SharedDelete {
  readonly options: { readonly owner?: string | undefined; readonly unreadable?: boolean | undefined } | undefined
  outcome: Promise<unknown> | undefined
}

/** How a caller waits for the lock. */
export interface LockWait {
  /** The kind of caller. The lock is never taken from the application. Default: the application. */
  readonly holder?: LockEvent['holder']
  readonly turnId?: string
  /** Whether it is a turn that counts towards `maxQueuedTurnsPerSession`. */
  readonly counted: boolean
  /**
   * The caller's owner, if any. The caller does not wait for requests with another owner, nor for another owner's
   * session. Default: no owner is compared. The caller waits for all other requests, and they wait for it.
   */
  readonly caller?: { readonly owner?: string | undefined } | undefined
  readonly delete?: SharedDelete
  /** The turn that makes the request, for `src/engine/lock/busy.ts`. Its type cannot be imported into this folder. */
  readonly turn?: unknown
  /**
   * Called before the caller has to wait. It throws to refuse the wait. `queued` is the number of counted requests of
   * the same owner that already wait.
   */
  readonly onBlocked?: (queued: number, lock: HeldLock) => void
  /** Called when the caller has joined the end of the queue. */
  readonly onQueued?: (lock: HeldLock) => void
  /** The longest wait, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number
  /** Makes the error of a wait that took too long. */
  readonly onTimeout?: () => unknown
  /** Ends the wait when it aborts. Default: none. */
  readonly signal?: AbortSignal | undefined
  readonly onAbort?: () => unknown
  /** Called when another request takes the lock. */
  readonly onTaken?: () => void
}

/** A lock that another request holds, as seen by a caller that has to wait for it. */
export interface HeldLock {
  /** How its holder requested it. */
  readonly holder: LockWait
  /** The requests that wait for it now, in order. */
  readonly waiting: () => Iterable<WaitingRequest>
}

/** A waiting request. */
export interface WaitingRequest {
  readonly wait: LockWait
  /** Ends its wait with an error. */
  cancel(reason: unknown): void
}

/** Reports an event of one request to the listeners. */
export type LockReport = (kind: LockEvent['kind']) => void
