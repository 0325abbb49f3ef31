/**
 * What the engine asks of a store: four operations and a compare-and-swap. A store holds no policy and does no
 * arithmetic; the engine makes the next revision and puts it in the document.
 */
import type { SessionDocument } from './session-document.js'

/** What became of each list since it was loaded. The lists are `history`, and `memory:<namespace>`. */
export interface SessionSaveHint {
  /** How many entries each list gained; none where it is not named. */
  readonly appended: Readonly<Record<string, number>>
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

/**
 * Where sessions live. Trouble of any kind but a conflict is thrown as it is; the engine makes it a
 * `SESSION_STORE_ERROR`. Nothing is ever merged.
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
   * The stored document, or `undefined` where there is none. What it returns shares nothing that can change with the
   * store. A backend that is down rejects: an outage is never a missing session.
   *
   * @throws `SessionFlowInvariantError` where something is stored that cannot be read as a document.
   */
  load(sessionId: string): Promise<SessionDocument | undefined>
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
   * @param hint - What was only appended; a store may ignore it. It is given only where every list, but for those that it
   * names as `rewritten`, begins with what is stored under `expectedRevision`: where a flow rewrote history or messages in
   * `onRestore`, there is none.
   * @param stateBytes - About how many bytes the context and the states of the steps take as JSON, for a store that counts what
   * it keeps; `document.bytes` counts the rest. A store may ignore it. It is given where the engine has measured them.
   * @throws `SessionConflictError` where another revision is stored, or none.
   */
  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint, stateBytes?: number): Promise<void>
  /**
   * Removes a document; a missing one is no error.
   *
   * @param expectedRevision - Default: whatever is stored.
   * @throws `SessionConflictError` where another revision is stored.
   */
  delete(sessionId: string, expectedRevision?: string): Promise<void>
  /** Gives up connections and timers. Stored sessions stay. */
  close(): Promise<void>
  /**
   * Optional, for a store that evicts: keeps a session until the returned function is called, so that none vanishes in
   * the middle of its turn.
   */
  hold?(sessionId: string): () => void
  /** Optional, for a store that evicts: calls `listener` for each session that it dropped. Returns an unsubscriber. */
  onEvicted?(listener: (sessionId: string) => void): () => void
  /**
   * Optional, for a store whose backend replicates: calls `listener` for each save that took effect, but on too few
   * replicas. Returns an unsubscriber.
   */
  onUnderReplicated?(listener: (report: UnderReplicatedReport) => void): () => void
}

/**
 * See {@link SessionStore.guarantees}.
 *
 * @inline
 */
export type SessionStoreGuarantees = SessionStore['guarantees']
