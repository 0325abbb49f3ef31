/** Lists the sessions of an engine's store, for the application and for operations on all sessions. */
import { EngineClosedError } from '../../errors/engine-errors.js'
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'
import type { SessionPage } from '../../session/session-summary.js'
import { invalidInput } from '../../util/options.js'
import type { EngineContext } from '../core/engine-context.js'
import { checkListQuery } from './check-session-options.js'
import type { ListSessionsQuery } from './session-options.js'

/** The page size for operations on all sessions. */
const pageSize = 500

/** How many sessions are processed at the same time. */
const atOnce = 8

/**
 * One page.
 *
 * @throws `InvalidInputError` for an invalid query, and if the store cannot list; `SessionStoreError` if the store
 * failed; `EngineClosedError`
 */
export async function listSessions(engine: EngineContext, query: ListSessionsQuery): Promise<SessionPage> {
  const checked = checkListQuery(query)
  checkCanList(engine)
  return listPage(engine, checked)
}

/** @throws `SessionStoreError`; `EngineClosedError` if the engine is closing, because its store closes soon */
function listPage({ session }: EngineContext, query: SessionListQuery): Promise<SessionPage> {
  if (session.closing) throw new EngineClosedError()
  return session.access.list(query)
}

/** @throws `InvalidInputError` */
export function checkCanList({ session }: EngineContext): void {
  if (session.access.canList) return
  throw invalidInput('The session store cannot list sessions: it has no method list.')
}

/**
 * Calls `work` for each listed session, a few at a time. After a failure it starts no more, and rejects.
 *
 * @returns the number of sessions that the listing could not read
 */
export async function forEachSession(
  engine: EngineContext,
  query: Omit<SessionListQuery, 'limit' | 'cursor'>,
  work: (session: SessionSummary) => Promise<void>,
): Promise<number> {
  let cursor: string | undefined
  let unreadable = 0
  do {
    const page = await listPage(engine, {
      ...query,
      limit: pageSize,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (let first = 0; first < page.sessions.length; first += atOnce) {
      const outcomes = await Promise.allSettled(page.sessions.slice(first, first + atOnce).map(work))
      const failure = outcomes.find((outcome) => outcome.status === 'rejected')
      if (failure !== undefined) throw failure.reason
    }
    unreadable += page.unreadable ?? 0
    cursor = page.cursor
  } while (cursor !== undefined)
  return unreadable
}
