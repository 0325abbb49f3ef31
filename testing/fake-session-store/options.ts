/** The options of `FakeSessionStore`, and of its methods that prepare a fault. Only types. */
import type { Clock, SessionDocument, SessionStore } from '../../src/index.js'
import type { FakeStoreMatch } from './faults.js'

/** The options of `FakeSessionStore`. */
export interface FakeSessionStoreOptions {
  /** The store underneath. Default: a new memory store. */
  readonly inner?: SessionStore
  /**
   * Whether the store has leases, first come, first served, which the engine's turns then take: each is a `lease` in
   * the journal. One that is not given back expires by the clock; it is not renewed. Stores over one memory store's
   * data have the same leases. Default: the leases of the store underneath, if it has any.
   */
  readonly leases?: boolean
  /** The clock for latency and leases. Default: the machine's. */
  readonly clock?: Clock
}

/** How `hangNext` hangs. @inline */
export interface HangOptions extends FakeStoreMatch {
  /** Whether the call takes effect nevertheless. Default `false`. */
  readonly after?: boolean
  /** Milliseconds on the store's clock before that. Default 0. */
  readonly latencyMs?: number
}

/** How `failNext` fails. @inline */
export interface FailOptions extends HangOptions {
  /**
   * Whether the error is thrown synchronously, as a careless store does, in place of a promise that rejects. Default
   * `false`.
   */
  readonly atOnce?: boolean
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
}

/** How calls fail during an `outage`. @inline */
export interface OutageOptions extends Pick<FakeStoreMatch, 'sessionId' | 'when'> {
  /** Whether calls never settle, in place of failing. Default `false`. */
  readonly hang?: boolean
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
}

/** How a rival deletes. @inline */
export interface RivalOptions extends FakeStoreMatch {
  /** The operation of the engine before which the rival deletes. Default `'save'`. */
  readonly before?: 'save' | 'delete'
}

/** How a rival writes. @inline */
export interface RivalWriteOptions extends RivalOptions {
  /** Makes the rival's document from the stored one. Default: the same document under another revision. */
  readonly change?: (stored: SessionDocument) => SessionDocument
}
