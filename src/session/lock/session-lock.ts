/**
 * The locks of sessions, by session ID; different IDs never wait for each other. Who waits for whom within one session
 * is in `lock-line.ts`. The lock knows nothing about turns: `flow-session.ts` decides how long a request waits, and
 * when a lock is taken from its holder.
 */

import { areExclusive, Callers, Line, type LockHolder, nothingStored, notLoaded, Queue, Waiter } from './lock-line.js'
import type { HeldLock, LockWait } from './lock-request.js'

/** The locks of one engine. There is an entry only for sessions that are locked. */
export class SessionLock {
  readonly #lines = new Map<string, Line>()
  readonly #now: () => number

  /** @param now - The time, for {@link LockHolder.since}. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** How many sessions are locked now. */
  get size(): number {
    return this.#lines.size
  }

  /** Everybody who has the lock: more than one where their callers name different owners. */
  holdersOf(sessionId: string): readonly LockHolder[] {
    return this.#lines.get(sessionId)?.holders ?? []
  }

  /** Who has the lock that a caller waits for: who excludes it, or else who is waited for by a request before it. */
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

  /** How the last request waits that a caller would wait behind; `undefined` where none waits. */
  lastWait(sessionId: string, caller?: LockWait['caller']): LockWait | undefined {
    const waiting = Array.from(this.#lines.get(sessionId)?.queue ?? [], ({ wait }) => wait)
    return waiting.findLast((wait) => areExclusive(wait.caller, caller))
  }

  /** The lock of a session that somebody has, as a caller sees it that has to wait. */
  heldLock(sessionId: string, caller?: LockWait['caller']): HeldLock {
    const line = this.#lines.get(sessionId) as Line
    const holder = this.holderOf(sessionId, caller) as LockHolder
    return { holder: holder.waitOf(), waiting: () => Array.from(line.queue ?? []) }
  }

  /** Whether a caller that has to wait is known to be a stranger. */
  isForeign(sessionId: string, caller: LockWait['caller']): boolean {
    return this.#lines.get(sessionId)?.isForeignTo(caller) === true
  }

  /** Acquires the lock if nobody has it or waits for it whom the request would have to wait for. */
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
   * Notes whose session it is. Requests of other owners that wait for this holder leave the queue.
   *
   * @param stored - The document as it was loaded; `undefined` where there is none.
   */
  setOwner(holder: LockHolder, stored: unknown): void {
    const { line } = holder
    if (line === undefined) return
    holder.owner = stored === undefined ? nothingStored : (Object(stored) as { owner?: unknown }).owner
    for (const waiter of Array.from(line.queue ?? [])) {
      const { caller } = waiter.wait
      // Those that a holder of their own excludes learn it from that one, as with an unknown ID.
      const before = line.holderBefore(caller)
      if ((before !== undefined && before !== holder) || waiter.hasLeft || !holder.isForeignTo(caller)) continue
      waiter.holder.isStranger = true
      waiter.resolve()
    }
  }

  /** Passes the lock to the next requests in the queue, or frees it. Does nothing where it was taken. */
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

  /** Refuses every request that waits. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const line of this.#lines.values()) {
      const { queue } = line
      // None of them gets the lock because one before it has left.
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

  /** Gives the lock to those that wait for nobody any more, or frees it. */
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
      // What leaves the queue passes the lock on itself.
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
