/**
 * What `KeyvSessionStore` asks of a backend: one compare-and-swap, and reads that see one moment. A driver knows how
 * its backend keeps a session; it neither reads what it keeps nor decides what a conflict means.
 *
 * A session is a head, which each save replaces, and chunks, which are added, or written anew where a list was cut: the
 * head tells how many there are of each list. Texts are opaque: they may be compressed or encrypted.
 */
import type { SessionStoreGuarantees } from '../../session/session-store.js'

/** The head of a stored session, and the chunks that were asked for. */
export interface StoredHead {
  readonly revision: string
  readonly head: string
  /** The chunks that were asked for, in that order; `undefined` for one that is not stored. */
  readonly chunks: readonly (string | undefined)[]
}

/** A whole stored session. */
export interface StoredSession {
  readonly revision: string
  readonly head: string
  /** Every stored chunk, by name. */
  readonly chunks: ReadonlyMap<string, string>
}

/** One compare-and-swap. */
export interface SessionSwap {
  readonly key: string
  /** The revision that must be stored; `undefined` where nothing may be. */
  readonly expectedRevision: string | undefined
  readonly revision: string
  readonly head: string
  /** Chunks to store, by name, in place of those that are there. An empty text takes the place of one that is to go. */
  readonly chunks: readonly (readonly [name: string, text: string])[]
  /** Whether the chunks that are stored go first. */
  readonly replacesChunks: boolean
  /** Milliseconds until the session expires, counted by the backend's clock from this write; `undefined`: never. */
  readonly ttlMs: number | undefined
  /**
   * Optional: a driver whose backend replicates calls it where the swap took effect on too few replicas; of a swap that
   * rejected, when the session is read and proves to be its work.
   */
  readonly onUnderReplicated?: (replicas: number, wanted: number) => void
}

/** Whether the backend stored what it was given (or had stored it before), or holds another revision. */
export type SwapOutcome = 'done' | 'conflict'

/** The way to one kind of backend. Trouble of any kind rejects; a backend that is down is never a missing session. */
export interface SessionDriver {
  readonly guarantees: SessionStoreGuarantees
  /**
   * The head and some chunks, as they were at one moment; `undefined` where nothing is stored.
   *
   * @param chunks - Names of chunks, stored or not.
   */
  read(key: string, chunks: readonly string[]): Promise<StoredHead | undefined>
  /** The whole session, as it was at one moment; `undefined` where nothing is stored. */
  readAll(key: string): Promise<StoredSession | undefined>
  /** Stores everything or nothing. `done`, without a change, where the stored revision equals the new one already. */
  swap(swap: SessionSwap): Promise<SwapOutcome>
  /**
   * Removes a session, unreadable ones included; `done` where there is none.
   *
   * @param expectedRevision - Default: whatever is stored.
   */
  remove(key: string, expectedRevision?: string): Promise<SwapOutcome>
  /**
   * Removes every expired session, by the backend's clock, and resolves to how many there were. Absent where the backend
   * does that by itself.
   */
  purgeExpired?(): Promise<number>
  /** Ends connections and timers. Calls after it reject; nothing reconnects. */
  close(): Promise<void>
}
