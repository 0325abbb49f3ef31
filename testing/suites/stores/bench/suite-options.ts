/** What the caller of the suite hands over: ways to make stores, and what they have. Types only. */
import type { SessionStore } from '../../../../src/index.js'

/** The options of `sessionStoreSuite`. Everything is optional. */
export interface SessionStoreSuiteOptions {
  /**
   * Another handle on the data of `store`, as a second process or a restarted one would have it. `store` is open.
   * Default: another call of `createStore`, which is right if every handle uses the same backend. A store that keeps
   * its data to itself needs this option, or the cases that need two handles fail and say so.
   */
  readonly reopen?: (store: SessionStore) => SessionStore | Promise<SessionStore>
  /**
   * Makes the session that is stored under `sessionId` unreadable without the store: puts bytes in its place that are
   * not a document. A handle opened later must meet them. Default: the cases that need it are left out.
   *
   * @param store - A handle on the data, open.
   */
  readonly corrupt?: (sessionId: string, store: SessionStore) => void | Promise<void>
  /** A store whose backend is down, with timeouts below `deadlineMs`. Default: the cases that need it are left out. */
  readonly createUnreachable?: () => SessionStore | Promise<SessionStore>
  /** Whether the store has `claim`. Default `false`: its cases are left out. */
  readonly claims?: boolean
  /**
   * Set it if the store has `lease`: the milliseconds after which the lease of a dead holder is free. They
   * are passed to `lease`; a store with its own setting is made with the same number. The suite waits as long a few
   * times, so take some hundred. Default: the cases of leases are left out.
   */
  readonly leases?: { readonly ttlMs: number }
  /** Whether the store has `list`. Default `false`: its cases are left out. */
  readonly lists?: boolean
  /**
   * Set it if the store can have an absolute time to live. It needs `advance` if the store uses a clock that a
   * test moves, and `expiresAt` if a backend decides by the document's `createdAt`. Default: the cases
   * of it are left out.
   */
  readonly absoluteTtl?: {
    /**
     * Makes a store whose sessions end `absoluteTtlMs` after their creation and `ttlMs` after their last save, in
     * milliseconds; without one of them, never by it. With `expiresAt`, all stores that it makes have the same data.
     */
    createStore(times: {
      readonly absoluteTtlMs?: number
      readonly ttlMs?: number
    }): SessionStore | Promise<SessionStore>
    /** Moves the clock of the stores that were made. */
    advance?(ms: number): void | Promise<void>
    /** When a stored session expires, in milliseconds since 1970, as the backend has it; `undefined`: never. */
    expiresAt?(sessionId: string): Promise<number | undefined>
  }
  /**
   * Cases that this store does not pass, by name, each with the reason; the beginning of their names, before the colon,
   * leaves out a whole group. They are registered nevertheless: by `test.skip` if there is one. Default: none.
   */
  readonly leaveOut?: Readonly<Record<string, string>>
  /**
   * Milliseconds for which a case waits while none of its operations settles: after that it fails, and names the
   * operation that hung. Keep it below the runner's own limit. Default 30 000.
   */
  readonly deadlineMs?: number
}
