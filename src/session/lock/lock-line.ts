/**
 * The requests for the lock of one session: the holders, and those that wait, first in, first out. Requests that name
 * different owners do not wait for each other: the session belongs to one owner at most, and for the others its ID is
 * like an unknown one. A request without an owner, made by the application itself, excludes all others.
 */
import { SessionConflictError } from '../../errors/session-errors.js'
import { type Linked, LinkedList } from '../../util/linked-list.js'
import type { LockReport, LockWait, WaitingRequest } from './lock-request.js'

/** Used instead of an owner: the holder has not loaded the document yet. */
export const notLoaded: unique symbol = Symbol('not loaded')

/** Used instead of an owner: nothing is stored under this ID, so no caller owns it. */
export const nothingStored: unique symbol = Symbol('nothing stored')

/** Work that holds a lock or requests one. It holds the lock of at most one session. */
export class LockHolder {
  /** The session whose lock it holds, or held until the lock was taken from it; `undefined` without a lock. */
  sessionId: string | undefined
  /** When it acquired the lock. */
  since = 0
  /** Whether its work has begun. If not, the runtime may have dropped it while it waited in the queue. */
  hasBegun = false
  /** Whether its work has ended. It acquires no lock after that. */
  hasEnded = false
  /** Whether another request took its lock. It must not write after that. */
  isTaken = false
  /** Whether it runs without the lock, because the session belongs to another owner. */
  isStranger = false
  /** The owner of the session, once it is loaded. */
  owner: unknown = notLoaded
  line: Line | undefined
  report: LockReport | undefined
  readonly waitOf: () => LockWait
  #ended: Promise<void> | undefined
  #reportEnd: (() => void) | undefined

  constructor(waitOf: () => LockWait) {
    this.waitOf = waitOf
  }

  /** Whether the holder has found that the session belongs to another owner than the caller. */
  isForeignTo(caller: LockWait['caller']): boolean {
    return caller !== undefined && this.owner !== notLoaded && this.owner !== caller.owner
  }

  /** Resolves when its work has ended, or another request has taken its lock. */
  ended(): Promise<void> {
    if (this.hasEnded || this.isTaken) return Promise.resolve()
    this.#ended ??= new Promise((resolve) => {
      this.#reportEnd = resolve
    })
    return this.#ended
  }

  end(): void {
    this.hasEnded = true
    this.#reportEnd?.()
  }

  lose(): void {
    this.isTaken = true
    this.#reportEnd?.()
  }

  /** Whether it has found that the session belongs to its caller. */
  get isOwn(): boolean {
    return this.owner === this.waitOf().caller?.owner
  }

  /** Whether other requests wait for its lock. */
  get isAwaited(): boolean {
    const { queue } = this.line ?? {}
    if (queue?.first === undefined) return false
    const { caller } = this.waitOf()
    return Array.from(queue).some(({ wait }) => areExclusive(wait.caller, caller))
  }

  /**
   * Called by `store-access.ts` before each write.
   *
   * @throws `SessionConflictError` if the lock was taken.
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
  /** Resolves when it has the lock or is a stranger; rejects with the reason passed to {@link Waiter.cancel}. */
  readonly settled: Promise<void>
  hasLeft = false
  readonly #queue: Queue
  readonly #onLeave: () => void
  #resolve!: () => void
  #reject!: (reason: unknown) => void

  /** @param onLeave - Called when it has left the queue: other requests may have waited only for this one. */
  constructor(holder: LockHolder, wait: LockWait, queue: Queue, onLeave: () => void) {
    this.holder = holder
    this.wait = wait
    this.#queue = queue
    this.#onLeave = onLeave
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    queue.append(this)
  }

  /** Leaves the queue with success. */
  resolve(): void {
    this.#leave(this.#resolve)
  }

  /** Leaves the queue with an error. Does nothing once it has the lock. */
  cancel(reason: unknown): void {
    this.#leave(() => this.#reject(reason))
  }

  /** Resolves when another request of the queue has acquired the lock. */
  nextHolder(): Promise<void> {
    return this.#queue.nextHolder()
  }

  /** Leaves the queue without settling the promise. */
  leave(): void {
    this.#leave(() => undefined)
  }

  #leave(settle: () => void): void {
    this.hasLeft = true
    if (!this.#queue.remove(this)) return
    settle()
    this.#onLeave()
  }
}

/** The requests that wait for one session, and how many of each owner count towards `maxQueuedTurnsPerSession`. */
export class Queue extends LinkedList<Waiter> {
  readonly #counted = new Map<string | undefined, number>()
  #nextHolder: Promise<void> | undefined
  #reportNext: (() => void) | undefined

  nextHolder(): Promise<void> {
    this.#nextHolder ??= new Promise((resolve) => {
      this.#reportNext = resolve
    })
    return this.#nextHolder
  }

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

/** Whether two requests for one session exclude each other. */
export function areExclusive(one: LockWait['caller'], other: LockWait['caller']): boolean {
  return one === undefined || other === undefined || one.owner === other.owner
}

/** The callers of several requests. */
export class Callers {
  readonly #owners = new Set<string | undefined>()
  /** Whether one of them names no owner, and so excludes every other request. */
  excludeAll = false

  constructor(holders: readonly LockHolder[]) {
    for (const { waitOf } of holders) this.add(waitOf().caller)
  }

  add(caller: LockWait['caller']): void {
    if (caller === undefined) this.excludeAll = true
    else this.#owners.add(caller.owner)
  }

  exclude(caller: LockWait['caller']): boolean {
    return this.excludeAll || (caller === undefined ? this.#owners.size > 0 : this.#owners.has(caller.owner))
  }
}

/** The requests for one session: the holders of its lock (usually one), and those that wait. */
export class Line {
  readonly holders: LockHolder[]
  queue: Queue | undefined

  constructor(holder: LockHolder) {
    this.holders = [holder]
  }

  /** The holder that excludes a caller. */
  holderBefore(caller: LockWait['caller']): LockHolder | undefined {
    return caller === undefined
      ? this.holders[0]
      : this.holders.find(({ waitOf }) => areExclusive(waitOf().caller, caller))
  }

  /** Whether a request that comes now has to wait. */
  isClosedTo(caller: LockWait['caller']): boolean {
    if (this.holderBefore(caller) !== undefined) return true
    return this.queue !== undefined && Array.from(this.queue).some(({ wait }) => areExclusive(wait.caller, caller))
  }

  /**
   * Whether a caller that has to wait is known not to own the session: according to the holder that excludes it, or
   * otherwise to any holder.
   */
  isForeignTo(caller: LockWait['caller']): boolean {
    const before = this.holderBefore(caller)
    return before === undefined ? this.holders.some((holder) => holder.isForeignTo(caller)) : before.isForeignTo(caller)
  }
}
