/**
 * What `KeyvSessionStore` needs of a backend: one compare-and-swap, and reads that see one moment. A driver decides how
 * its backend stores a session. It does not interpret the texts, and does not decide what a conflict means.
 *
 * A session is a head, which each save replaces, and chunks, which are added, and removed where the document lost what
 * they hold. A chunk is never changed. The head counts the chunks of each list. Texts are opaque: they may be
 * compressed or encrypted.
 */
import type { SessionStoreGuarantees, SessionSummary } from '../../../session/session-store.js'

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

/** Whose session it is, and since when: what a driver needs to find the sessions of an owner. Neither ever changes. */
export interface SessionOwner {
  /** A key like those of sessions, made of a digest of the owner. Two owners have different ones. */
  readonly ownerKey: string
  /** As in the document. */
  readonly createdAt: string
}

/** What a head says about its session. */
export interface ListedSession extends Partial<SessionOwner> {
  readonly key: string
  readonly summary: SessionSummary
}

/** Which sessions a driver lists. */
export interface SessionListing {
  /** What the keys of all sessions begin with; others may begin with it too. */
  readonly prefix: string
  /** Only sessions of this owner. Default: all. */
  readonly ownerKey: string | undefined
  /** The most sessions of a page. */
  readonly limit: number
  /** That of the page before; `undefined`: the first page. */
  readonly cursor: string | undefined
  /**
   * What a head says; `unreadable` where it cannot be read, `undefined` where it belongs to no session of this store.
   */
  read(key: string, stored: Pick<StoredHead, 'revision' | 'head'>): Promise<ListedSession | 'unreadable' | undefined>
}

/**
 * One page of a listing.
 *
 * @inline
 */
export type ListedPage = {
  readonly sessions: readonly ListedSession[]
  /** As `SessionStore.list` says. Default 0. */
  readonly unreadable?: number
  readonly cursor?: string
}

/** One compare-and-swap. */
export interface SessionSwap {
  readonly key: string
  /** The revision that must be stored; `undefined` where nothing may be. */
  readonly expectedRevision: string | undefined
  readonly revision: string
  readonly head: string
  /** Chunks to store, by name, in place of those that are there. */
  readonly chunks: readonly (readonly [name: string, text: string])[]
  /**
   * Names of stored chunks that no longer belong to the session: to be removed in the same step. None of them is in
   * `chunks`. A driver that ignores them keeps texts that no load uses, until the session is deleted or replaced.
   */
  readonly removed: readonly string[]
  /** Whether all chunks are removed that are not in `chunks`. Then `removed` is empty. */
  readonly replacesChunks: boolean
  /** Milliseconds until the session expires, counted by the backend's clock from this write; `undefined`: never. */
  readonly ttlMs: number | undefined
  /**
   * Whose session it is, for a driver that lists; it resolves to `undefined` where the session has no
   * owner. Default: nobody asks.
   */
  readonly owner?: () => Promise<SessionOwner | undefined>
  /**
   * When the session expires at the latest, whatever `ttlMs` says: milliseconds since 1970, by the backend's clock.
   * Default: never. Where a driver ignores it, the store removes such a session when it is loaded next.
   */
  readonly expiresBy?: number | undefined
  /**
   * Optional: a driver whose backend replicates calls it where the swap took effect on too few replicas. Where the swap
   * rejected, it is called when the session is read next and the swap turns out to have taken effect.
   */
  readonly onUnderReplicated?: (replicas: number, wanted: number) => void
}

/** Whether the backend stored what it was given (or had stored it before), or holds another revision. */
export type SwapOutcome = 'done' | 'conflict'

/** The driver of one kind of backend. Every failure rejects; a backend that is down is never a missing session. */
export interface SessionDriver {
  readonly guarantees: SessionStoreGuarantees
  /**
   * The head and some chunks, as they were at one moment; `undefined` where nothing is stored.
   *
   * @param chunks - Names of chunks, stored or not.
   * @param knownRevision - A driver may ignore it. Where this is the stored revision, the caller needs nothing else,
   * because a revision is never used twice under a key: the head may be an empty text then, and the list of chunks
   * empty. Compare whole revisions.
   */
  read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined>
  /** The whole session, as it was at one moment; `undefined` where nothing is stored. */
  readAll(key: string): Promise<StoredSession | undefined>
  /** Stores everything or nothing. `done`, without a change, where the stored revision equals the new one already. */
  swap(swap: SessionSwap): Promise<SwapOutcome>
  /**
   * Removes a session, unreadable ones included; `done` where nothing is stored.
   *
   * @param expectedRevision - Default: whatever is stored.
   * @param owner - As in {@link SessionSwap.owner}, for a driver that keeps a list of each owner's sessions. It is
   * called before the session is removed, because it may read the session; it resolves to `undefined`,
   * too, where nobody can know.
   */
  remove(key: string, expectedRevision?: string, owner?: SessionSwap['owner']): Promise<SwapOutcome>
  /**
   * Removes every expired session and claim, by the backend's clock, and resolves to the number of sessions. Absent
   * where the backend removes them by itself.
   */
  purgeExpired?(): Promise<number>
  /**
   * Optional: keeps `sessionId` under `key`, unless another session ID is kept under it, and returns the one that is
   * kept. Both in one step of the backend. Keys of claims differ from those of sessions. Without it
   * the store has no `claim`.
   *
   * @param ttlMs - Milliseconds for which it is kept, by the backend's clock.
   */
  claim?(key: string, sessionId: string, ttlMs: number): Promise<string>
  /**
   * Optional: waits until the lease of `key` is free, and takes it. Returns a function that gives it back. Keys of
   * leases differ from all others. Without it the store has no `lease`.
   *
   * @param ttlMs - Milliseconds after which the lease of a holder that died is free. A driver that has a
   * setting of its own uses that.
   * @param signal - Ends the wait: it then rejects.
   */
  lease?(key: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>>
  /**
   * Optional: one page of the stored sessions, as `SessionStore.list` says; filters other than the owner are the
   * store's. Without it the store has no `list`.
   *
   * @throws `InvalidInputError` for a cursor that the driver did not make.
   */
  list?(listing: SessionListing): Promise<ListedPage>
  /** Ends connections and timers. Calls after it reject; nothing reconnects. */
  close(): Promise<void>
}
