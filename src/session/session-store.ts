/**
 * What the engine asks of a store: four operations and a compare-and-swap, and what a store may leave out. A store
 * holds no policy and does no arithmetic; the engine makes the next revision and puts it in the document.
 */
import type { SessionDocument } from './session-document.js'

/**
 * What became of each list since it was loaded. The lists are `history`, `memory:<namespace>`, `attachments`,
 * `receipts` and `effects` (the entries of that record).
 */
export interface SessionSaveHint {
  /** How many entries each list gained at its end; none where it is not named. */
  readonly appended: Readonly<Record<string, number>>
  /** How many entries each list lost at its start; none where it is not named. */
  readonly removed?: Readonly<Record<string, number>>
  /** The lists that do not begin with what is stored, and are to be stored whole in its place. Default: none. */
  readonly rewritten?: readonly string[]
}

/** A save that took effect on fewer replicas than were asked for, or on an unknown number of them (counted as 0). */
export interface UnderReplicatedReport {
  readonly sessionId: string
  /** The replicas that acknowledged the save in time. */
  readonly replicas: number
  /** The replicas that were asked for. */
  readonly wanted: number
}

/** Which sessions a listing returns; all conditions together. */
export interface SessionListQuery {
  /** Only sessions of this owner. Default: all, also those without one. */
  readonly owner?: string
  /** Only sessions that are stored under this name of a flow. */
  readonly flowName?: string
  readonly runStatus?: SessionDocument['runStatus']
  /** Only sessions whose last save was before this time: ISO 8601, UTC, as `savedAt` of a document. */
  readonly savedBefore?: string
  /** The most sessions of a page: a whole number from 1 to 1 000. */
  readonly limit: number
  /** That of the page before. Default: the first page. */
  readonly cursor?: string
}

/** One session of a listing. It holds nothing that a user or a model said. */
export interface SessionSummary extends Pick<SessionDocument, 'id' | 'runStatus' | 'createdAt' | 'savedAt' | 'turns'> {
  /** The name of the flow, as it is stored. */
  readonly flowName: string
  /** Absent where the session was started without one. */
  readonly owner?: string
}

/**
 * Where sessions are stored. Except for conflicts, a store throws errors of its backend as they are; the engine turns
 * them into `SESSION_STORE_ERROR`. Documents are never merged.
 *
 * A revision is never used twice for a session ID. So a store may keep what it read or wrote, as long as it compares
 * the whole revision with the stored one at each load: the ID alone, or the number in the revision, does not
 * tell two documents apart.
 */
export interface SessionStore {
  /** What the store can promise. */
  readonly guarantees: {
    /** Whether two processes can never both win a swap (`backend`), or only two callers in this one (`process`). */
    readonly compareAndSwap: 'backend' | 'process'
    /** Whether a session outlives the process. */
    readonly durable: boolean
  }
  /**
   * The stored document, or `undefined` where there is none. It must not change when the store changes what it keeps,
   * nor the other way round. A backend that is down rejects: an outage is not a missing session.
   *
   * @param caller - A store may ignore it: whose session is asked for, perhaps nobody's. Of a session of another owner
   * the engine uses nothing but `owner`. So a store may return such a document without its lists, and best reads no
   * more of it than that: then neither what is stored nor how much of it there is shows in the answer to a stranger.
   * @throws `SessionFlowInvariantError` where something is stored that cannot be read as a document; with its
   * `owner`, where that can be read.
   */
  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined>
  /**
   * Stores a new document. Succeeds without a change where it is stored already under the document's own revision.
   *
   * @param stateBytes - As in {@link SessionStore.save}.
   * @throws `SessionConflictError` where the ID exists under another revision.
   */
  create(document: SessionDocument, stateBytes?: number): Promise<void>
  /**
   * Replaces the stored document if its revision equals `expectedRevision`. Succeeds without a change where the stored
   * revision equals the document's own.
   *
   * @param hint - What was removed from the start of lists and appended to their ends; a store may ignore it. It is
   * given only where every list, but for those that it names as `rewritten`, otherwise is what is stored under
   * `expectedRevision`: where a flow rewrote history or messages in `onRestore`, there is none.
   * @param stateBytes - About how many bytes the context and the states of the steps take as JSON, for a store that
   * counts what it keeps; `document.bytes` counts the rest. A store may ignore it. It is given where the
   * engine has measured them.
   * @throws `SessionConflictError` where another revision is stored, or none.
   */
  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint, stateBytes?: number): Promise<void>
  /**
   * Removes a document. It is not an error where there is none.
   *
   * @param expectedRevision - Default: whatever is stored.
   * @throws `SessionConflictError` where another revision is stored.
   */
  delete(sessionId: string, expectedRevision?: string): Promise<void>
  /**
   * Optional: keeps `sessionId` under `key`, unless another session ID is kept under it, and returns the one that is
   * kept. So two processes that get the same first message create one session. A repeat with the same ID succeeds.
   *
   * @param key - A digest: letters, digits, `_` and `-`.
   * @param ttlMs - Milliseconds for which it is kept, at least.
   */
  claim?(key: string, sessionId: string, ttlMs: number): Promise<string>
  /**
   * Optional: waits until no other process has the lease of a session, and takes it. A lease keeps processes from
   * running turns that would lose the swap; no promise of the engine depends on it.
   *
   * @param sessionId - The ID; for a session with an owner, a digest of both: 22 letters, digits, `_` and `-`.
   * @param ttlMs - Milliseconds after which the lease of a holder that died is free. A living holder's is renewed. A
   * store that has a setting of its own uses that.
   * @param signal - Ends the wait: it then rejects.
   * @returns A function that gives the lease back.
   */
  lease?(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>>
  /**
   * Optional: one page of the stored sessions. A session that is stored from the first page to the last is on one of
   * them, mostly on exactly one: a backend that cannot promise that may repeat it, but must not leave it out. A page
   * may have fewer sessions than `limit`, and even none, while there is a `cursor`. What cannot be read as a session is
   * left out, and counted in `unreadable`: in a listing of an owner only where the store knows without reading it that
   * it is this owner's, and whatever else the query asks for. Absent where there is none.
   *
   * @returns The sessions, how many could not be read, and the cursor of the next page: a text without a fixed form,
   * absent after the last page.
   * @throws `InvalidInputError` for a cursor that this store did not make.
   */
  list?(query: SessionListQuery): Promise<{
    readonly sessions: readonly SessionSummary[]
    readonly unreadable?: number
    readonly cursor?: string
  }>
  /** Closes connections and ends timers. Stored sessions stay. */
  close(): Promise<void>
  /**
   * Optional, for a store that evicts: keeps a session until the returned function is called, so that it is not
   * evicted during its turn.
   */
  hold?(sessionId: string): () => void
  /**
   * Optional, for a store that evicts: calls `listener` for each session that it evicted. Returns a function
   * that removes the listener.
   */
  onEvicted?(listener: (sessionId: string) => void): () => void
  /**
   * Optional, for a store whose backend replicates: calls `listener` for each save that took effect, but on too few
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
