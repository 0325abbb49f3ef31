/**
 * One holder at a time, first in first out, for each session ID; different IDs never wait for each other. The lock knows
 * nothing about turns: `flow-session.ts` decides how long a request waits, and when a lock is taken from its holder.
 */
import { SessionConflictError } from '../errors/session-errors.js'
import { type Linked, LinkedList } from '../util/linked-list.js'
import type { HeldLock, LockReport, LockWait, WaitingRequest } from './lock-request.js'
import { ownerOf } from './session-codec.js'

/** In place of an owner: the holder has not loaded the document yet. */
const notLoaded: unique symbol = Symbol('not loaded')

/** In place of an owner: nothing is stored under the ID, so it is the session of nobody who asks for it. */
const nothingStored: unique symbol = Symbol('nothing stored')

/** Work that holds a lock, or requests it. It has the lock of one session at most. */
export class LockHolder {
  /** Whose lock it has, or had when the lock was taken from it; `undefined` without a lock. */
  sessionId: string | undefined
  /** When it acquired the lock. */
  since = 0
  /** Whether its work has begun. Until then a runtime that drops work may have dropped it in the queue. */
  hasBegun = false
  /** Whether its work is over: it acquires no further lock. */
  hasEnded = false
  /** Whether another request took the lock from it: it must not write any more. */
  isTaken = false
  /** Whether it runs without the lock, because the session is not its caller's. */
  isStranger = false
  /** To whom the session belongs. */
  owner: unknown = notLoaded
  queue: Queue | undefined
  report: LockReport | undefined
  readonly waitOf: () => LockWait
  #ended: Promise<void> | undefined
  #reportEnd: (() => void) | undefined

  constructor(waitOf: () => LockWait) {
    this.waitOf = waitOf
  }

  /** Whether it knows that the session is not the caller's. */
  isForeignTo(caller: LockWait['caller']): boolean {
    return caller !== undefined && this.owner !== notLoaded && this.owner !== caller.owner
  }

  /** Resolves when its work is over, or another request has taken its lock. */
  ended(): Promise<void> {
    if (this.hasEnded || this.isTaken) return Promise.resolve()
    this.#ended ??= new Promise((resolve) => {
      this.#reportEnd = resolve
    })
    return this.#ended
  }

  /** Its work is over. */
  end(): void {
    this.hasEnded = true
    this.#reportEnd?.()
  }

  /** Its lock was taken. */
  lose(): void {
    this.isTaken = true
    this.#reportEnd?.()
  }

  /** Whether other requests wait for the lock that it has. */
  get isAwaited(): boolean {
    return this.queue?.first !== undefined
  }

  /**
   * `store-access.ts` calls it before each write.
   *
   * @throws `SessionConflictError` where the lock was taken.
   */
  check(): void {
    if (this.isTaken) throw new SessionConflictError({ sessionId: this.sessionId ?? '' })
  }
}

/** A request in the queue. */
export class Waiter implements Linked<Waiter>, WaitingRequest {
  previous: Waiter | undefined
  next: Waiter | undefined
  readonly holder: LockHolder
  readonly wait: LockWait
  /** Resolves when the lock is held, or the holder is a stranger; rejects with what {@link Waiter.cancel} was given. */
  readonly settled: Promise<void>
  hasLeft = false
  readonly #queue: Queue
  #resolve!: () => void
  #reject!: (reason: unknown) => void

  constructor(holder: LockHolder, wait: LockWait, queue: Queue) {
    this.holder = holder
    this.wait = wait
    this.#queue = queue
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    queue.append(this)
  }

  /** Leaves the queue with success. */
  resolve(): void {
    if (this.leave()) this.#resolve()
  }

  /** Leaves the queue with an error. Does nothing once the lock is held. */
  cancel(reason: unknown): void {
    if (this.leave()) this.#reject(reason)
  }

  /** Resolves when the lock has been passed on: another request of the queue holds it. */
  nextHolder(): Promise<void> {
    return this.#queue.nextHolder()
  }

  /** Leaves the queue, and settles no promise. Returns `false` where it is in no queue any more. */
  leave(): boolean {
    this.hasLeft = true
    return this.#queue.remove(this)
  }
}

/** The requests that wait for one session, and how many of each owner count towards `maxQueuedTurnsPerSession`. */
class Queue extends LinkedList<Waiter> {
  readonly #counted = new Map<string | undefined, number>()
  #nextHolder: Promise<void> | undefined
  #reportNext: (() => void) | undefined

  nextHolder(): Promise<void> {
    this.#nextHolder ??= new Promise((resolve) => {
      this.#reportNext = resolve
    })
    return this.#nextHolder
  }

  /** The lock has been passed on. */
  reportNextHolder(): void {
    this.#reportNext?.()
    this.#reportNext = undefined
    this.#nextHolder = undefined
  }

  counted(owner: string | undefined): number {
    return this.#counted.get(owner) ?? 0
  }

  override append(waiter: Waiter): void {
    super.append(waiter)
    this.#count(waiter, 1)
  }

  override remove(waiter: Waiter): boolean {
    const removed = super.remove(waiter)
    if (removed) this.#count(waiter, -1)
    return removed
  }

  #count({ wait }: Waiter, change: number): void {
    if (!wait.counted) return
    const owner = wait.caller?.owner
    const count = this.counted(owner) + change
    if (count === 0) this.#counted.delete(owner)
    else this.#counted.set(owner, count)
  }
}

/** The locks of one engine. There is an entry only for sessions that are locked. */
export class SessionLock {
  readonly #holders = new Map<string, LockHolder>()
  readonly #now: () => number

  /** @param now - The time, for {@link LockHolder.since}. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** How many sessions are locked now. */
  get size(): number {
    return this.#holders.size
  }

  /** Who has the lock. */
  holderOf(sessionId: string): LockHolder | undefined {
    return this.#holders.get(sessionId)
  }

  /** How many counted requests of an owner wait for `sessionId`. */
  queued(sessionId: string, owner?: string): number {
    return this.#holders.get(sessionId)?.queue?.counted(owner) ?? 0
  }

  /** How the last request in the queue waits; `undefined` where none waits. */
  lastWait(sessionId: string): LockWait | undefined {
    return this.#holders.get(sessionId)?.queue?.last?.wait
  }

  /** The lock of a session that somebody has. */
  heldLock(sessionId: string): HeldLock {
    const holder = this.#holders.get(sessionId) as LockHolder
    return {
      holder: holder.waitOf(),
      *waiting() {
        // One that leaves the queue has no link to the next any more.
        let next: Waiter | undefined
        for (let waiter = holder.queue?.first; waiter !== undefined; waiter = next) {
          next = waiter.next
          yield waiter
        }
      },
    }
  }

  /** Whether the holder knows that the session is not the caller's. */
  isForeign(sessionId: string, caller: LockWait['caller']): boolean {
    return this.#holders.get(sessionId)?.isForeignTo(caller) === true
  }

  /** Acquires the lock if nobody holds it. */
  tryAcquire(sessionId: string, holder: LockHolder): boolean {
    if (this.#holders.has(sessionId)) return false
    this.#give(sessionId, holder, undefined)
    return true
  }

  /** Adds a request to the queue. The session must be locked. */
  enqueue(sessionId: string, holder: LockHolder, wait: LockWait): Waiter {
    const current = this.#holders.get(sessionId) as LockHolder
    current.queue ??= new Queue()
    return new Waiter(holder, wait, current.queue)
  }

  /**
   * Notes whose session it is. Requests of other owners leave the queue.
   *
   * @param stored - The document as it was loaded; `undefined` where there is none.
   */
  setOwner(holder: LockHolder, stored: unknown): void {
    if (!this.#holds(holder)) return
    holder.owner = stored === undefined ? nothingStored : ownerOf(stored)
    let next: Waiter | undefined
    for (let waiter = holder.queue?.first; waiter !== undefined; waiter = next) {
      next = waiter.next
      if (!holder.isForeignTo(waiter.wait.caller)) continue
      waiter.holder.isStranger = true
      waiter.resolve()
    }
  }

  /** Passes the lock to the next request in the queue, or frees it. Does nothing where it was taken. */
  release(holder: LockHolder): void {
    if (!this.#holds(holder)) return
    const sessionId = holder.sessionId as string
    this.#pass(sessionId, holder.queue)
    holder.sessionId = undefined
    holder.owner = notLoaded
    holder.queue = undefined
  }

  /** Takes the lock from its holder, and passes it to the next request in the queue. */
  take(holder: LockHolder): void {
    holder.lose()
    this.#pass(holder.sessionId as string, holder.queue)
    holder.queue = undefined
  }

  /** Refuses every request that waits. Holders keep their locks. */
  refuseWaiters(reason: () => unknown): void {
    for (const { queue } of this.#holders.values()) {
      for (let waiter = queue?.first; waiter !== undefined; waiter = queue?.first) waiter.cancel(reason())
    }
  }

  #holds(holder: LockHolder): boolean {
    return holder.sessionId !== undefined && this.#holders.get(holder.sessionId) === holder
  }

  #give(sessionId: string, holder: LockHolder, queue: Queue | undefined): void {
    holder.sessionId = sessionId
    holder.since = this.#now()
    holder.queue = queue
    this.#holders.set(sessionId, holder)
  }

  #pass(sessionId: string, queue: Queue | undefined): void {
    const waiter = queue?.first
    if (queue === undefined || waiter === undefined) {
      this.#holders.delete(sessionId)
      return
    }
    this.#give(sessionId, waiter.holder, queue)
    waiter.resolve()
    queue.reportNextHolder()
  }
}
