/** What the constructor of a `FakeSessionStore` takes, and its methods that prepare a fault. Only types. */
import type { Clock, SessionDocument, SessionStore } from '../../src/index.js'
import type { FakeStoreAim } from './faults.js'

/** What the constructor of `FakeSessionStore` takes. */
export interface FakeSessionStoreOptions {
  /** The store underneath. Default: a new memory store. */
  readonly inner?: SessionStore
  /** The clock for latency. Default: the machine's. */
  readonly clock?: Clock
}

/** How `hangNext` hangs. */
export interface HangOptions extends FakeStoreAim {
  /** Whether the call takes effect all the same. Default `false`. */
  readonly after?: boolean
  /** Milliseconds on the store's clock before that. Default 0. */
  readonly latencyMs?: number
}

/** How `failNext` fails. */
export interface FailOptions extends HangOptions {
  /** Whether the error is thrown, as a sloppy store does, in place of a promise that rejects. Default `false`. */
  readonly atOnce?: boolean
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
}

/** How `outage` shows itself. */
export interface OutageOptions extends Pick<FakeStoreAim, 'sessionId' | 'when'> {
  /** Whether calls get no answer, in place of an error. Default `false`. */
  readonly hang?: boolean
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
}

/** When a rival deletes. */
export interface RivalOptions extends FakeStoreAim {
  /** The engine's operation that the rival is quicker than. Default `'save'`. */
  readonly before?: 'save' | 'delete'
}

/** When a rival writes, and what. */
export interface RivalWriteOptions extends RivalOptions {
  /** Makes the rival's document of the stored one. Default: the same document under another revision. */
  readonly change?: (stored: SessionDocument) => SessionDocument
}
