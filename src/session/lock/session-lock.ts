/**
 * The locks of sessions, by session ID. Different IDs never wait for each other; `lock-line.ts` decides which requests
 * for the same session do. `flow-session.ts` decides how long a request waits, and when a lock is taken from its
 * holder.
 */

import { areExclusive, Callers, Line, type LockHolder, nothingStored, notLoaded, Queue, Waiter } from './lock-line.js'
import type { HeldLock, LockWait } from './lock-request.js'

/** The locks of one engine. Only locked sessions have an entry. */
export class SessionLock {
  readonly #lines = new Map<string, Line>()
  readonly #now: () => number

  /** @param now - Returns the time for {@link LockHolder.since}. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** How many sessions are locked. */
  get size(): number {
    return this.#lines.size
  }

  /** All holders of the lock: more than one if their callers name different owners. */
  holdersOf(sessionId: string): readonly LockHolder[] {
    return this.#lines.get(sessionId)?.holders ?? []
  }

  /** The holder that a caller waits for: the one that excludes it, or else the first. */
  holderOf(sessionId: string, caller?: LockWait['caller']): LockHolder | undefined {
    const line = this.#lines.get(sessionId)
    return line?.holderBefore(caller) ?? line?.holders[0]
  }

  /** Whether a request that comes now has to wait. */
  isClosedTo(sessionId: string, caller: LockWait['caller']): boolean {
    return this.#lines.get(sessionId)?.isClosedTo(caller) === true
  }

  /** How many counted requests of an owner wait for `sessionId`. */
  queued(sessionId: string, owner?: string): number {
    return this.#lines.get(sessionId)?.queue?.counted(owner) ?? 0
  }

  /** How the last request waits that a caller would wait behind; `undefined` if there is none. */
  lastWait(sessionId: string, caller?: LockWait['caller']): LockWait | undefined {
    const waiting = Array.from(this.#lines.get(sessionId)?.queue ?? [], ({ wait }) => wait)
    return waiting.findLast((wait) => areExclusive(wait.caller, caller))
  }

  /** The lock of a locked session, as seen by a caller that has to wait for it. */
  heldLock(sessionId: string, caller?: LockWait['caller']): HeldLock {
    const line = this.#lines.get(sessionId) as Line
    const holder = this.holderOf(sessionId, caller) as LockHolder
    return { holder: holder.waitOf(), waiting: () => Array.from(line.queue ?? []) }
  }

  /** Whether a caller that has to wait is known not to own the session. */
  isForeign(sessionId: string, caller: LockWait['caller']): boolean {
    return this.#lines.get(sessionId)?.isForeignTo(caller) === true
  }

  /** Acquires the lock, unless the request has to wait for a holder or for a request in the queue. */
  tryAcquire(sessionId: string, holder: LockHolder): boolean {
    const line = this.#lines.get(sessionId)
    if (line === undefined) {
      const own = new Line(holder)
      this.#lines.set(sessionId, own)
      this.#give(sessionId, holder, own)
      return true
    }
    if (line.isClosedTo(holder.waitOf().caller)) return false
    line.holders.push(holder)
    this.#give(sessionId, holder, line)
    return true
  }

  /** Adds a request to the queue. The session must be locked. */
  enqueue(sessionId: string, holder: LockHolder, wait: LockWait): Waiter {
    const line = this.#lines.get(sessionId) as Line
    line.queue ??= new Queue()
    return new Waiter(holder, wait, line.queue, () => this.#pass(sessionId, line))
  }

  /**
   * Records the owner of the session. Requests of other owners that wait for this holder leave the queue.
   *
   * @param stored - The document as loaded; `undefined` if nothing is stored.
   */
  setOwner(holder: LockHolder, stored: unknown): void {
    const { line } = holder
    if (line === undefined) return
    holder.owner = stored === undefined ? nothingStored : (Object(stored) as { owner?: unknown }).owner
    for (const waiter of Array.from(line.queue ?? [])) {
      const { caller } = waiter.wait
      // A request that another holder excludes waits for that holder's answer, as it would for an unknown ID.
      const before = line.holderBefore(caller)
      if ((before !== undefined && before !== holder) || waiter.hasLeft || !holder.isForeignTo(caller)) continue
      waiter.holder.isStranger = true
      waiter.resolve()
    }
  }

  /** Passes the lock to the next requests in the queue, or frees it. Does nothing if it was taken. */
  release(holder: LockHolder): void {
    const { line, sessionId } = holder
    if (line === undefined) return
    this.#remove(holder, line)
    holder.sessionId = undefined
    holder.owner = notLoaded
    this.#pass(sessionId as string, line)
  }

  /** Takes the lock from its holder, and passes it to the next requests in the queue. */
  take(holder: LockHolder): void {
    const { line } = holder
    holder.lose()
    if (line === undefined) return
    this.#remove(holder, line)
    this.#pass(holder.sessionId as string, line)
  }

  /** Refuses all waiting requests. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const line of this.#lines.values()) {
      const { queue } = line
      // Without the queue, no waiter gets the lock when the one before it leaves.
      line.queue = undefined
      for (const waiter of Array.from(queue ?? [])) waiter.cancel(reason())
    }
  }

  #give(sessionId: string, holder: LockHolder, line: Line): void {
    holder.sessionId = sessionId
    holder.since = this.#now()
    holder.line = line
  }

  #remove(holder: LockHolder, line: Line): void {
    line.holders.splice(line.holders.indexOf(holder), 1)
    holder.line = undefined
  }

  /** Gives the lock to the requests that have nothing left to wait for, or frees it. */
  #pass(sessionId: string, line: Line): void {
    if (line.queue?.first !== undefined) this.#passOn(sessionId, line, line.queue)
    if (line.holders.length === 0) this.#lines.delete(sessionId)
  }

  #passOn(sessionId: string, line: Line, queue: Queue): void {
    const { holders } = line
    const before = new Callers(holders)
    const hadBefore = holders.length
    for (const waiter of Array.from(queue)) {
      if (before.excludeAll) break
      const { caller } = waiter.wait
      // A waiter that leaves the queue passes the lock on itself.
      if (!waiter.hasLeft && !before.exclude(caller)) {
        holders.push(waiter.holder)
        this.#give(sessionId, waiter.holder, line)
        waiter.resolve()
      }
      before.add(caller)
    }
    if (holders.length > hadBefore) queue.reportNextHolder()
  }
}
