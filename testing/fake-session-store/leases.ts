/**
 * The leases of a `FakeSessionStore`: first come, first served. One that is not given back expires by the clock; it is
 * not renewed, so a holder that dies is one that does nothing.
 */
import type { Clock } from '../../src/index.js'

/** A holder of a lease, or one that waits for it. */
interface Applicant {
  take(): void
}

/** Leases by data: stores over the same data share leases. */
const leasesByData = new WeakMap<object, FakeLeases>()

/** Leases by session ID. */
export class FakeLeases {
  readonly #clock: Clock
  /** The first of each queue has the lease. */
  readonly #queues = new Map<string, Applicant[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Those of some data. The first clock counts. */
  static of(data: object, clock: Clock): FakeLeases {
    const leases = leasesByData.get(data) ?? new FakeLeases(clock)
    leasesByData.set(data, leases)
    return leases
  }

  /** Waits for a lease. Resolves to the function that gives it back. */
  take(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const leave = (): void => this.#leave(sessionId, applicant)
      const abort = (): void => {
        leave()
        reject(signal.reason)
      }
      const applicant: Applicant = {
        take: () => {
          signal.removeEventListener('abort', abort)
          const stopExpiry = this.#clock.setTimer(leave, ttlMs)
          resolve(async () => {
            stopExpiry()
            leave()
          })
        },
      }
      signal.addEventListener('abort', abort)
      const queue = this.#queues.get(sessionId) ?? []
      this.#queues.set(sessionId, queue)
      if (queue.push(applicant) === 1) applicant.take()
    })
  }

  #leave(sessionId: string, applicant: Applicant): void {
    const queue = this.#queues.get(sessionId) ?? []
    const index = queue.indexOf(applicant)
    if (index === -1) return
    queue.splice(index, 1)
    if (queue.length === 0) this.#queues.delete(sessionId)
    else if (index === 0) queue[0]?.take()
  }
}
