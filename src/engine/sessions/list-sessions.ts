/** Lists the sessions of an engine's store, for an application and for the operations that go through all of them. */
import { EngineClosedError } from '../../errors/engine-errors.js'
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'
import type { SessionPage } from '../../session/session-summary.js'
import { invalidInput } from '../../util/options.js'
import type { EngineContext } from '../core/engine-context.js'
import { checkListQuery } from './check-session-options.js'
import type { ListSessionsQuery } from './session-options.js'

/** The sessions of a page, where all are gone through. */
const pageSize = 500

/** How many sessions are worked on at the same time. */
const atOnce = 8

/**
 * One page.
 *
 * @throws `InvalidInputError` for a query that cannot be used, and a store that cannot list; `SessionStoreError` where
 * the store failed, `EngineClosedError`.
 */
export async function listSessions(engine: EngineContext, query: ListSessionsQuery): Promise<SessionPage> {
  const checked = checkListQuery(query)
  checkCanList(engine)
  return listPage(engine, checked)
}

/** @throws `SessionStoreError`, and `EngineClosedError` where the engine closes: its store is closed soon. */
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
 * Calls `work` for each session that is listed, a few at a time. After a failure no more begin, and it rejects.
 *
 * @returns How many sessions the listing could not read.
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
