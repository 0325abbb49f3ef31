/**
 * One at a time, first in first out, for each session ID; different IDs never wait for each other. The lock knows
 * nothing of turns: who waits decides how long, and whether it counts as one of the turns in the queue.
 */
import { type Linked, LinkedList } from '../util/linked-list.js'

/** A place in line. */
interface Waiter extends Linked<Waiter> {
  readonly counted: boolean
  readonly enter: () => void
  readonly refuse: (reason: unknown) => void
}

/** Who waits for one session, and how many of them count to `maxQueuedTurnsPerSession`. */
class Queue extends LinkedList<Waiter> {
  counted = 0

  override append(waiter: Waiter): void {
    super.append(waiter)
    if (waiter.counted) this.counted++
  }

  override remove(waiter: Waiter): boolean {
    const waited = super.remove(waiter)
    if (waited && waiter.counted) this.counted--
    return waited
  }
}

/** A request for the lock that has to wait. */
export interface LockRequest {
  /** Resolves when the lock is held; rejects with what {@link LockRequest.leave} was given. */
  readonly held: Promise<void>
  /** Gives the place up. Does nothing once the lock is held. */
  leave(reason: unknown): void
}

/** The locks of one engine. Holds an entry only for sessions that somebody holds. */
export class SessionLock {
  readonly #queues = new Map<string, Queue>()

  /** How many sessions are locked now. */
  get size(): number {
    return this.#queues.size
  }

  /** How many counted waiters stand in line for `sessionId`. */
  queued(sessionId: string): number {
    return this.#queues.get(sessionId)?.counted ?? 0
  }

  /** Takes the lock if nobody holds it. */
  tryAcquire(sessionId: string): boolean {
    if (this.#queues.has(sessionId)) return false
    this.#queues.set(sessionId, new Queue())
    return true
  }

  /** Stands in line behind the holder, which there must be. */
  enqueue(sessionId: string, counted: boolean): LockRequest {
    const queue = this.#queues.get(sessionId) as Queue
    let waiter!: Waiter
    const held = new Promise<void>((enter, refuse) => {
      waiter = { counted, enter, refuse, previous: undefined, next: undefined }
    })
    queue.append(waiter)
    // Who has the lock already is in no line, and its promise is settled: removing and refusing it does nothing.
    return {
      held,
      leave(reason) {
        queue.remove(waiter)
        waiter.refuse(reason)
      },
    }
  }

  /** Passes the lock on to the next waiter, or frees it. */
  release(sessionId: string): void {
    const queue = this.#queues.get(sessionId)
    const waiter = queue?.first
    if (queue === undefined || waiter === undefined) {
      this.#queues.delete(sessionId)
      return
    }
    queue.remove(waiter)
    waiter.enter()
  }

  /** Turns every waiter away. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const queue of this.#queues.values()) {
      for (let waiter = queue.first; waiter !== undefined; waiter = queue.first) {
        queue.remove(waiter)
        waiter.refuse(reason())
      }
    }
  }
}
