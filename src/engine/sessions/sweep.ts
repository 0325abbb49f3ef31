/** Removes the sessions whose last save is older than a given time, or only reports them. */
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'
import { isListed, summaryOf } from '../../session/session-summary.js'
import { isoTime } from '../../util/iso-time.js'
import type { EngineContext } from '../core/engine-context.js'
import { checkSweepOptions } from './check-session-options.js'
import { checkCanList, forEachSession } from './list-sessions.js'
import { removeListed } from './remove-listed.js'
import type { RemovedSessions, SweepOptions } from './session-options.js'

/** @throws `InvalidInputError`, `SessionStoreError`, `EngineClosedError`, and any error of `onProgress` */
export async function sweep(engine: EngineContext, options: SweepOptions): Promise<RemovedSessions> {
  checkSweepOptions(options)
  checkCanList(engine)
  const { olderThan, status, timers = 'keep', dryRun = false, onProgress } = options
  const query: Omit<SessionListQuery, 'limit'> = {
    savedBefore: isoTime(Math.max(0, engine.clock.now() - olderThan)),
    ...(status === undefined ? {} : { runStatus: status }),
  }
  let deleted = 0
  let failed = 0
  // A store may list a session twice. A removed one is gone by then.
  const seen = new Set<string>()

  const mayRemove = ({ wakeAt, runStatus }: SessionSummary): boolean =>
    wakeAt === undefined || runStatus !== 'running' || timers === 'ignore'

  async function removeOne(session: SessionSummary): Promise<boolean | 'failed'> {
    if (!mayRemove(session)) return false
    if (dryRun) return !seen.has(session.id) && seen.add(session.id).has(session.id)
    return removeListed(engine, session, (stored) => isDue(stored, query, mayRemove))
  }

  const unreadable = await forEachSession(engine, query, async (session) => {
    const outcome = await removeOne(session)
    if (outcome === false) return
    if (outcome === true) deleted++
    else failed++
    await onProgress?.({ session, deleted, failed })
  })
  return { deleted, failed: failed + unreadable }
}

/** Whether a session is still as listed: a turn may have saved it since. */
function isDue(
  stored: unknown,
  query: Omit<SessionListQuery, 'limit'>,
  mayRemove: (summary: SessionSummary) => boolean,
): boolean {
  const summary = summaryOf(stored)
  return summary !== undefined && isListed(summary, { ...query, limit: 1 }) && mayRemove(summary)
}
