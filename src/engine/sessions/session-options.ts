/** What the operations on many sessions take and return. Types only: check-session-options.ts checks them. */
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'

/**
 * What {@link FlowEngine.listSessions} takes.
 *
 * @inline
 */
export type ListSessionsQuery = Omit<SessionListQuery, 'limit'> & {
  /** The most sessions of a page: a whole number from 1 to 1 000. Default 100. */
  readonly limit?: number
}

/**
 * What {@link FlowEngine.eraseOwner} and {@link FlowEngine.sweep} resolve to.
 *
 * @inline
 */
export type RemovedSessions = {
  /** The sessions that were removed; in a dry run, those that would be. */
  readonly deleted: number
  /**
   * The sessions that could not be removed, and are stored still, those included that the store could
   * not read for the listing.
   */
  readonly failed: number
}

/**
 * What {@link FlowEngine.sweep} takes.
 *
 * @inline
 */
export type SweepOptions = {
  /** Milliseconds since the last save, by the engine's clock: sessions that were saved before that are removed. */
  readonly olderThan: number
  /** Only sessions in this state. Default: any. */
  readonly status?: SessionSummary['runStatus']
  /** Whether nothing is removed, and only reported. Default `false`. */
  readonly dryRun?: boolean
  /**
   * Called for each session that was removed, or would be, and for each that could not be; `deleted` and `failed` count
   * those up to this one. The sweep waits for the promise it returns, and ends with what it throws.
   */
  readonly onProgress?: (progress: SweepProgress) => void | Promise<void>
}

/** @inline */
export type SweepProgress = {
  readonly session: SessionSummary
  readonly deleted: number
  readonly failed: number
}
