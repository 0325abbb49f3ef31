/**
 * One holder at a time, first in first out, for each session ID; different IDs never wait for each other. The lock knows
 * nothing about turns: `flow-session.ts` decides how long a request waits, and whether it counts as a queued turn.
 */
import { type Linked, LinkedList } from '../util/linked-list.js'

/** A request in the queue. */
interface Waiter extends Linked<Waiter> {
  readonly counted: boolean
  readonly acquire: () => void
  readonly refuse: (reason: unknown) => void
}

/** The requests that wait for one session, and how many of them count towards `maxQueuedTurnsPerSession`. */
class Queue extends LinkedList<Waiter> {
  counted = 0

  override append(waiter: Waiter): void {
    super.append(waiter)
    if (waiter.counted) this.counted++
  }

  override remove(waiter: Waiter): boolean {
    const removed = super.remove(waiter)
    if (removed && waiter.counted) this.counted--
    return removed
  }
}

/** A request for the lock that has to wait. */
export interface LockRequest {
  /** Resolves when the lock is held; rejects with what {@link LockRequest.cancel} was given. */
  readonly held: Promise<void>
  /** Leaves the queue. Does nothing once the lock is held. */
  cancel(reason: unknown): void
}

/** The locks of one engine. There is an entry only for sessions that are locked. */
export class SessionLock {
  readonly #queues = new Map<string, Queue>()

  /** How many sessions are locked now. */
  get size(): number {
    return this.#queues.size
  }

  /** How many counted requests wait for `sessionId`. */
  queued(sessionId: string): number {
    return this.#queues.get(sessionId)?.counted ?? 0
  }

  /** Acquires the lock if nobody holds it. */
  tryAcquire(sessionId: string): boolean {
    if (this.#queues.has(sessionId)) return false
    this.#queues.set(sessionId, new Queue())
    return true
  }

  /** Adds a request to the queue. The session must be locked. */
  enqueue(sessionId: string, counted: boolean): LockRequest {
    const queue = this.#queues.get(sessionId) as Queue
    let waiter!: Waiter
    const held = new Promise<void>((acquire, refuse) => {
      waiter = { counted, acquire, refuse, previous: undefined, next: undefined }
    })
    queue.append(waiter)
    // Once the lock is held, the waiter is in no queue and its promise is settled: neither call does anything.
    return {
      held,
      cancel(reason) {
        queue.remove(waiter)
        waiter.refuse(reason)
      },
    }
  }

  /** Passes the lock to the next request in the queue, or frees it. */
  release(sessionId: string): void {
    const queue = this.#queues.get(sessionId)
    const waiter = queue?.first
    if (queue === undefined || waiter === undefined) {
      this.#queues.delete(sessionId)
      return
    }
    queue.remove(waiter)
    waiter.acquire()
  }

  /** Refuses every request that waits. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const queue of this.#queues.values()) {
      for (let waiter = queue.first; waiter !== undefined; waiter = queue.first) {
        queue.remove(waiter)
        waiter.refuse(reason())
      }
    }
  }
}
