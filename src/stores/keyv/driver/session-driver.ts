/**
 * What a backend must do for `KeyvSessionStore`: one compare-and-swap, and reads that each see a single moment. A
 * driver decides how its backend stores a session. It neither interprets the texts nor decides what a conflict means.
 *
 * A session has a head, which each save replaces, and chunks. A save adds chunks, and removes those whose entries the
 * document no longer has; it never changes one. The head counts the chunks of each list. Texts are opaque: they may be
 * compressed or encrypted.
 */
export { claimMs as removalMarkMs } from '../../../session/deletion-mark.js'

import type { SessionStoreGuarantees, SessionSummary } from '../../../session/session-store.js'

/** The head of a stored session, and the requested chunks. */
export interface StoredHead {
  readonly revision: string
  readonly head: string
  /** The requested chunks, in the order of the request; `undefined` for one that is not stored. */
  readonly chunks: readonly (string | undefined)[]
}

/** A whole stored session. */
export interface StoredSession {
  readonly revision: string
  readonly head: string
  /** Every stored chunk, by name. */
  readonly chunks: ReadonlyMap<string, string>
}

/** The owner and creation time of a session, by which a driver finds an owner's sessions. Neither ever changes. */
export interface SessionOwner {
  /** A key made from a digest of the owner. Two owners never have the same key. */
  readonly ownerKey: string
  /** As in the document. */
  readonly createdAt: string
}

/** The facts about a session that its head contains. */
export interface ListedSession extends Partial<SessionOwner> {
  readonly key: string
  readonly summary: SessionSummary
}

/** Which sessions a driver lists. */
export interface SessionListing {
  /** The prefix of all session keys. Other keys may have it too. */
  readonly prefix: string
  /** Only sessions of this owner. Default: all. */
  readonly ownerKey: string | undefined
  /** The maximum number of sessions on a page. */
  readonly limit: number
  /** The cursor that the previous page returned; `undefined`: the first page. */
  readonly cursor: string | undefined
  /** Reads a head. Resolves to `unreadable` if it cannot, and to `undefined` if this store has no such session. */
  read(key: string, stored: Pick<StoredHead, 'revision' | 'head'>): Promise<ListedSession | 'unreadable' | undefined>
}

/**
 * One page of a listing.
 *
 * @inline
 */
export type ListedPage = {
  readonly sessions: readonly ListedSession[]
  /** See `SessionStore.list`. Default 0. */
  readonly unreadable?: number
  readonly cursor?: string
}

/** One compare-and-swap. */
export interface SessionSwap {
  readonly key: string
  /** The revision that must be stored now; `undefined` if nothing may be stored. */
  readonly expectedRevision: string | undefined
  readonly revision: string
  readonly head: string
  /** Chunks to store. A chunk replaces a stored one with the same name. */
  readonly chunks: readonly (readonly [name: string, text: string])[]
  /**
   * Names of stored chunks that no longer belong to the session and must be removed in the same step. None of them is
   * in `chunks`. A driver that ignores them keeps texts that no load uses, until the session is deleted or replaced.
   */
  readonly removed: readonly string[]
  /** Whether to remove all chunks that are not in `chunks`. If so, `removed` is empty. */
  readonly replacesChunks: boolean
  /** Milliseconds until the session expires, counted by the backend's clock from this write; `undefined`: never. */
  readonly ttlMs: number | undefined
  /**
   * Returns the session's owner, for a driver that lists sessions. Resolves to `undefined` if the session has no owner.
   */
  readonly owner?: () => Promise<SessionOwner | undefined>
  /**
   * The latest time at which the session expires, regardless of `ttlMs`: milliseconds since 1970, by the backend's
   * clock. Default: never. If a driver ignores it, the store removes the expired session at its next load.
   */
  readonly expiresBy?: number | undefined
  /**
   * Optional: a driver with a replicated backend calls it if the swap took effect on too few replicas. If the swap
   * rejected, the driver calls it at the session's next read, if the swap turns out to have taken effect.
   */
  readonly onUnderReplicated?: (replicas: number, wanted: number) => void
}

/** `done`: the backend has stored the new revision, now or earlier. `conflict`: it holds another revision. */
export type SwapOutcome = 'done' | 'conflict'

/** The driver of one kind of backend. Every failure rejects; a backend that is down is never a missing session. */
export interface SessionDriver {
  readonly guarantees: SessionStoreGuarantees
  /**
   * Reads the head and some chunks as they were at one moment; `undefined` if nothing is stored.
   *
   * @param chunks - Names of chunks, which need not be stored.
   * @param knownRevision - The revision that the caller already has. If it is the stored revision, the head may be an
   * empty text and the list of chunks empty, because a revision is never used twice under a key. Compare whole
   * revisions. A driver may ignore this.
   */
  read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined>
  /** Reads the whole session as it was at one moment; `undefined` if nothing is stored. */
  readAll(key: string): Promise<StoredSession | undefined>
  /**
   * Stores everything or nothing. If the stored revision already equals the new one, returns `done` without a change.
   */
  swap(swap: SessionSwap): Promise<SwapOutcome>
  /**
   * Removes a session, even an unreadable one; `done` if nothing is stored. In the same step, a driver with `claim`
   * leaves a mark under the key for 24 hours by the backend's clock, also if nothing was stored: until then a swap that
   * expects nothing is a conflict. Reads and listings do not show the mark, and nothing else of the session stays.
   *
   * @param expectedRevision - Default: any revision.
   * @param owner - As in {@link SessionSwap.owner}, for a driver that keeps a list of each owner's sessions. Call it
   * before removing the session, because it may read the session. It also resolves to `undefined` if the owner cannot
   * be read.
   */
  remove(key: string, expectedRevision?: string, owner?: SessionSwap['owner']): Promise<SwapOutcome>
  /**
   * Removes every session and claim that has expired by the backend's clock. Resolves to the number of sessions. Absent
   * if the backend removes them itself.
   */
  purgeExpired?(): Promise<number>
  /**
   * Optional: stores `sessionId` under `key`, unless the key already holds a session ID, and returns the ID that the
   * key holds; both in one step of the backend. A claim's key is never a session's key. Without it the store has no
   * `claim`.
   *
   * @param ttlMs - Milliseconds until the claim expires, by the backend's clock.
   */
  claim?(key: string, sessionId: string, ttlMs: number): Promise<string>
  /** Goes with `claim`: whether {@link SessionDriver.remove} has left its mark under this key. */
  isRemoved?(key: string): Promise<boolean>
  /**
   * Optional: waits until the lease of `key` is free, and takes it. Returns a function that releases it. A lease's key
   * is never used for anything else. Without it the store has no `lease`.
   *
   * @param ttlMs - Milliseconds after which a lease is free again if its holder died. A driver with its own setting
   * uses that instead.
   * @param signal - Ends the wait; the promise then rejects.
   */
  lease?(key: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>>
  /**
   * Goes with `list`: whether the backend itself knows the session under `key` as one of this owner, whatever its texts
   * say. Asked only if they cannot be read.
   */
  isOwnedBy?(key: string, ownerKey: string): Promise<boolean>
  /**
   * Optional: one page of the stored sessions, as in `SessionStore.list`. The store applies all filters except the
   * owner. Without it the store has no `list`.
   *
   * @throws `InvalidInputError` for a cursor that the driver did not make.
   */
  list?(listing: SessionListing): Promise<ListedPage>
  /** Ends connections and timers. Later calls reject; nothing reconnects. */
  close(): Promise<void>
}
