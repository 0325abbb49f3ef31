/**
 * One at a time, first in first out, for each session ID; different IDs never wait for each other. The lock knows
 * nothing of turns: who waits decides how long, and whether it counts as one of the turns in the queue.
 */

/** A place in line: a node of a doubly linked list, so that joining, leaving and the next one's turn cost the same. */
interface Waiter {
  readonly counted: boolean
  readonly enter: () => void
  readonly refuse: (reason: unknown) => void
  previous: Waiter | undefined
  next: Waiter | undefined
}

interface Queue {
  first: Waiter | undefined
  last: Waiter | undefined
  /** Waiting turns: those that count to `maxQueuedTurnsPerSession`. */
  counted: number
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
    this.#queues.set(sessionId, { first: undefined, last: undefined, counted: 0 })
    return true
  }

  /** Stands in line behind the holder, which there must be. */
  enqueue(sessionId: string, counted: boolean): LockRequest {
    const queue = this.#queues.get(sessionId)
    if (queue === undefined) throw new Error(`Nobody holds the lock of session '${sessionId}'.`)
    let waiter!: Waiter
    const held = new Promise<void>((enter, refuse) => {
      waiter = { counted, enter, refuse, previous: queue.last, next: undefined }
    })
    if (queue.last === undefined) queue.first = waiter
    else queue.last.next = waiter
    queue.last = waiter
    if (counted) queue.counted++
    // Who has the lock already is in no list, and its promise is settled: unlinking and refusing it does nothing.
    return {
      held,
      leave(reason) {
        unlink(queue, waiter)
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
    unlink(queue, waiter)
    waiter.enter()
  }

  /** Turns every waiter away. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const queue of this.#queues.values()) {
      for (let waiter = queue.first; waiter !== undefined; waiter = queue.first) {
        unlink(queue, waiter)
        waiter.refuse(reason())
      }
    }
  }
}

function unlink(queue: Queue, waiter: Waiter): void {
  if (waiter.previous === undefined && queue.first !== waiter) return
  if (waiter.previous === undefined) queue.first = waiter.next
  else waiter.previous.next = waiter.next
  if (waiter.next === undefined) queue.last = waiter.previous
  else waiter.next.previous = waiter.previous
  waiter.previous = undefined
  waiter.next = undefined
  if (waiter.counted) queue.counted--
}
