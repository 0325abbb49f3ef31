/**
 * A runtime that drops requests, as workerd does when a client has gone. Their timers never end. Their work goes on
 * never, or long afterwards, when another request has taken the lock of the session.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { VirtualClock } from '../../index.js'
import { type Gate, gate } from '../engine-harness.js'
import type { TurnAction } from './plans.js'

interface Request {
  readonly index: number
  readonly drop: TurnAction['drop']
  readonly taken: Gate
  moments: number
}

export class Requests {
  /** A clock that knows in which request a timer was set. */
  readonly clock: VirtualClock
  readonly dropped: Set<number> = new Set()
  /** The actions whose locks were taken away. */
  readonly taken: Set<number> = new Set()
  readonly #storage = new AsyncLocalStorage<Request>()
  readonly #requests = new Map<number, Request>()

  constructor() {
    this.clock = new RequestClock(() => {
      const index = this.#storage.getStore()?.index
      return () => index !== undefined && this.dropped.has(index)
    })
  }

  /** Runs an action as a separate request. */
  run<T>(index: number, drop: TurnAction['drop'], work: () => Promise<T>): Promise<T> {
    const request: Request = { index, drop, taken: gate(), moments: 0 }
    this.#requests.set(index, request)
    return this.#storage.run(request, work)
  }

  /** The lock was taken from the request of an action. */
  take(index: number): void {
    this.taken.add(index)
    this.#requests.get(index)?.taken.open()
  }

  /** The action whose request runs now; `undefined` outside of requests. */
  get current(): number | undefined {
    return this.#storage.getStore()?.index
  }

  /**
   * One of the moments of the request that runs now: here it may be dropped.
   *
   * @param onDropped - Called if the request is dropped.
   */
  async pass(onDropped: (index: number) => void): Promise<void> {
    const request = this.#storage.getStore()
    if (request?.drop === undefined || request.moments++ !== request.drop.atMoment) return
    this.dropped.add(request.index)
    onDropped(request.index)
    await (request.drop.comesBack ? request.taken.opened : new Promise(() => undefined))
  }
}

class RequestClock extends VirtualClock {
  readonly timersEndWithRequest = true
  readonly #dropOf: () => () => boolean

  constructor(dropOf: () => () => boolean) {
    super()
    this.#dropOf = dropOf
  }

  override setTimer(callback: () => void, ms: number): () => void {
    const isDropped = this.#dropOf()
    return super.setTimer(() => isDropped() || callback(), ms)
  }
}
