/**
 * The Durable Object of one session: its only writer, wherever its turns run. It is called by `fetch` alone, so it
 * needs no base class of the platform, and the entry point can be imported anywhere. object-storage.ts stores the data.
 */
import { type DurableObjectStorageLike, ObjectStorage } from './object-storage.js'
import type { ObjectRequest } from './protocol.js'

/** The used part of a Durable Object's state. */
export interface DurableObjectStateLike {
  readonly storage: DurableObjectStorageLike
}

/**
 * The class that the Worker exports and lists under `new_sqlite_classes` in its configuration. It stores one session or
 * one claim, and an alarm deletes it when it has expired.
 *
 * @example
 * ```ts
 * export { SessionObject } from 'turnkeeper/durable-object'
 * ```
 */
export class SessionObject {
  readonly #storage: ObjectStorage

  constructor(state: DurableObjectStateLike) {
    this.#storage = new ObjectStorage(state.storage)
  }

  /**
   * Answers a `DurableObjectSessionStore`. No other caller can reach it: an object has no address outside the Worker.
   */
  async fetch(request: Request): Promise<Response> {
    return Response.json((await this.#answer((await request.json()) as ObjectRequest)) ?? null)
  }

  /** Called by the platform when the session may have expired. */
  alarm(): Promise<void> {
    return this.#storage.wake()
  }

  async #answer(request: ObjectRequest): Promise<unknown> {
    const storage = this.#storage
    switch (request.operation) {
      case 'read':
        return storage.read(request.chunks, request.knownRevision)
      case 'readAll':
        return storage.read()
      case 'swap':
        return storage.swap(request)
      case 'remove':
        return storage.remove(request.expectedRevision)
      case 'isRemoved':
        return storage.isRemoved()
      case 'claim':
        return storage.claim(request.sessionId, request.ttlMs)
    }
  }
}
