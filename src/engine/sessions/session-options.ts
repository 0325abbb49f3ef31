/** The options and results of operations on many sessions. Types only: check-session-options.ts checks them. */
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'

/**
 * The query of {@link FlowEngine.listSessions}.
 *
 * @inline
 */
export type ListSessionsQuery = Omit<SessionListQuery, 'limit'> & {
  /** The most sessions in a page: a whole number from 1 to 1 000. Default 100. */
  readonly limit?: number
}

/**
 * The result of {@link FlowEngine.eraseOwner} and {@link FlowEngine.sweep}.
 *
 * @inline
 */
export type RemovedSessions = {
  /** The number of removed sessions; in a dry run, of those that would be removed. */
  readonly deleted: number
  /**
   * The number of sessions that could not be removed and are still stored, including those that the store could not
   * read for the listing.
   */
  readonly failed: number
}

/**
 * The options of {@link FlowEngine.sweep}.
 *
 * @inline
 */
export type SweepOptions = {
  /** Milliseconds since the last save, by the engine's clock. Sessions with an older save are removed. */
  readonly olderThan: number
  /** Only sessions in this state. Default: any. */
  readonly status?: SessionSummary['runStatus']
  /**
   * Whether sessions with a timer, due or ahead, are removed: `'ignore'` removes them like others. Default `'keep'`.
   */
  readonly timers?: 'keep' | 'ignore'
  /** Whether to only report, and remove nothing. Default `false`. */
  readonly dryRun?: boolean
  /**
   * Called for each session that was removed (or would be), and for each that could not be; `deleted` and `failed` are
   * the counts so far. The sweep awaits its promise, and ends with its error.
   */
  readonly onProgress?: (progress: SweepProgress) => void | Promise<void>
}

/** @inline */
export type SweepProgress = {
  readonly session: SessionSummary
  readonly deleted: number
  readonly failed: number
}
