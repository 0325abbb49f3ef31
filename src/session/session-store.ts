/**
 * The interface of a store: four operations, a compare-and-swap, and some optional methods. A store makes no decisions
 * and computes nothing; the engine makes the next revision and puts it in the document.
 */
import type { SessionDocument } from './session-document.js'

/**
 * How each list changed since it was loaded. The lists are `history`, `memory:<namespace>`, `attachments`, `receipts`
 * and `effects` (the entries of that record).
 */
export interface SessionSaveHint {
  /** How many entries each list gained at its end; 0 for lists that are not named. */
  readonly appended: Readonly<Record<string, number>>
  /** How many entries each list lost at its start; 0 for lists that are not named. */
  readonly removed?: Readonly<Record<string, number>>
  /** The lists that do not continue the stored ones and must be stored whole. Default: none. */
  readonly rewritten?: readonly string[]
}

/** A save that took effect on too few replicas, or on an unknown number of them (counted as 0). */
export interface UnderReplicatedReport {
  readonly sessionId: string
  /** How many replicas acknowledged the save in time. */
  readonly replicas: number
  /** How many replicas the store waits for. */
  readonly wanted: number
}

/** Which sessions a listing returns. A session must meet all conditions. */
export interface SessionListQuery {
  /** Only sessions of this owner. Default: all sessions, including those without an owner. */
  readonly owner?: string
  /** Only sessions of the flow that is stored under this name. */
  readonly flowName?: string
  /** Only sessions in the step that is stored under this ID. Flows may have steps of one ID: name the flow, too. */
  readonly step?: string
  readonly runStatus?: SessionDocument['runStatus']
  /** Only sessions that were last saved before this time: ISO 8601, UTC, like `savedAt` of a document. */
  readonly savedBefore?: string
  /** The most sessions on a page: a whole number from 1 to 1 000. */
  readonly limit: number
  /** The cursor that the previous page returned. Default: the first page. */
  readonly cursor?: string
}

/** One session of a listing. It contains no text of a user or a model. */
export interface SessionSummary extends Pick<SessionDocument, 'id' | 'runStatus' | 'createdAt' | 'savedAt' | 'turns'> {
  /** The name of the flow, as it is stored. */
  readonly flowName: string
  /** The ID of the current step, as it is stored; `null` before the first one is entered. */
  readonly step: string | null
  /** Absent if the session was started without an owner. */
  readonly owner?: string
  /** The time that was last passed to the engine option `schedule`. Absent without timers. */
  readonly wakeAt?: string
}

/**
 * Where sessions are stored. A store throws `SessionConflictError` for conflicts, and errors of its backend as they
 * are; the engine turns those into `SESSION_STORE_ERROR`. Documents are never merged.
 *
 * A revision is never used twice for a session ID. So a store may cache what it read or wrote, as long as each load
 * compares the whole revision with the stored one. The ID alone, or the number in the revision, does not identify a
 * document.
 */
export interface SessionStore {
  /** What the store promises. */
  readonly guarantees: {
    /** Whether only one of two processes can win a swap (`backend`), or only one of two callers in this process. */
    readonly compareAndSwap: 'backend' | 'process'
    /** Whether sessions outlive the process. */
    readonly durable: boolean
    /**
     * Milliseconds after the last save after which the store drops a session; sooner if it also counts from the session's
     * creation. Absent: it drops none.
     */
    readonly ttlMs?: number | undefined
  }
  /**
   * Returns the stored document, or `undefined` if there is none. Later changes to the stored data must not change the
   * returned document, nor the other way round. If the backend is down, the promise rejects: an outage is not a missing
   * session.
   *
   * @param caller - Whose session is requested: an owner, or none. A store may ignore it. If the session belongs to
   * another owner, the engine uses only `owner`. So a store may then return the document without its lists, and should
   * read no more than that, so that the answer reveals neither what is stored nor how much.
   * @throws `SessionFlowInvariantError` if the stored data cannot be read as a document. The error has `owner` if that
   * can be read.
   */
  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined>
  /**
   * Optional: what {@link SessionStore.load} would return, as {@link SessionStore.list} shows it, without reading the
   * lists. Everything else is as for `load`: `undefined`, the caller, and the errors. Without it the engine loads.
   */
  summary?(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionSummary | undefined>
  /**
   * Stores a new document. Succeeds and changes nothing if it is already stored under its own revision.
   *
   * @param stateBytes - As in {@link SessionStore.save}.
   * @throws `SessionConflictError` if the ID exists under another revision.
   */
  create(document: SessionDocument, stateBytes?: number): Promise<void>
  /**
   * Replaces the stored document if its revision equals `expectedRevision`. Succeeds and changes nothing if the stored
   * revision is already the document's own.
   *
   * @param hint - What was removed from the start of lists and appended to their ends. A store may ignore it. Apart
   * from these changes, every list that is not in `rewritten` equals the one stored under `expectedRevision`. There is
   * no hint if a flow rewrote history or messages in `onRestore`.
   * @param stateBytes - About how many bytes the context and the states of the steps take as JSON, for a store that
   * counts its bytes; `document.bytes` counts the rest. A store may ignore it. Absent if the engine has not measured
   * it.
   * @throws `SessionConflictError` if another revision is stored, or none.
   */
  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint, stateBytes?: number): Promise<void>
  /**
   * Removes a document. Succeeds if there is none. A store with `claim` leaves a mark under the ID for 24 hours, also
   * if there was no document: until then {@link SessionStore.create} of this ID is a conflict. So neither a late
   * `create` nor a repeated first message brings the session back. Nothing else of the document stays, and only
   * {@link SessionStore.isDeleted} shows the mark.
   *
   * @param expectedRevision - Default: any revision.
   * @throws `SessionConflictError` if another revision is stored.
   */
  delete(sessionId: string, expectedRevision?: string): Promise<void>
  /**
   * Optional: stores `sessionId` under `key`, unless another session ID is already stored under it, and returns the
   * stored ID. So two processes that receive the same first message create one session. A repeat with the same ID
   * succeeds.
   *
   * @param key - A digest: letters, digits, `_` and `-`.
   * @param ttlMs - The time in milliseconds for which the claim is kept, at least.
   */
  claim?(key: string, sessionId: string, ttlMs: number): Promise<string>
  /**
   * Goes with `claim`: whether {@link SessionStore.delete} has left its mark under this ID. The engine asks if a claim
   * leads to an ID under which nothing is stored.
   */
  isDeleted?(sessionId: string): Promise<boolean>
  /**
   * Optional: waits until no other process has the lease of a session, and takes it. A lease keeps processes from
   * running turns that would lose the swap; no promise of the engine depends on it.
   *
   * @param sessionId - The session ID; for a session with an owner, a digest of both: 22 letters, digits, `_` and `-`.
   * @param ttlMs - The time in milliseconds after which the lease of a dead holder is free. A living holder renews its
   * lease. If the store has its own setting for this time, it uses that.
   * @param signal - Ends the wait, which then rejects.
   * @returns A function that returns the lease.
   */
  lease?(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>>
  /**
   * Optional: returns one page of the stored sessions. A session that stays stored from the first page to the last is
   * on at least one of them. A backend that cannot promise exactly one may repeat it, but must not leave it out. While
   * there is a `cursor`, a page may have fewer sessions than `limit`, or none. Data that cannot be read as a session is
   * left out and counted in `unreadable`. If the query names an owner, only data is counted that belongs to this owner
   * and whose owner is known without reading the data, whatever else the query asks for. Absent if nothing is counted.
   *
   * @returns The sessions, how many could not be read, and the cursor of the next page: an opaque text, absent after
   * the last page.
   * @throws `InvalidInputError` for a cursor that this store did not make.
   */
  list?(query: SessionListQuery): Promise<{
    readonly sessions: readonly SessionSummary[]
    readonly unreadable?: number
    readonly cursor?: string
  }>
  /** Closes connections and stops timers. Stored sessions stay. */
  close(): Promise<void>
  /**
   * Optional, for a store that evicts: keeps a session from being evicted during its turn, until the returned function
   * is called.
   */
  hold?(sessionId: string): () => void
  /**
   * Optional, for a store that evicts: calls `listener` with the ID of each evicted session. Returns a function that
   * removes the listener.
   */
  onEvicted?(listener: (sessionId: string) => void): () => void
  /**
   * Optional, for a store whose backend replicates: calls `listener` for each save that took effect on too few
   * replicas. Returns a function that removes the listener.
   */
  onUnderReplicated?(listener: (report: UnderReplicatedReport) => void): () => void
}

/**
 * See {@link SessionStore.guarantees}.
 *
 * @inline
 */
export type SessionStoreGuarantees = SessionStore['guarantees']
