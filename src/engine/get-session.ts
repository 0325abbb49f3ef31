/** Loads one stored session for the application. */
import { decodeSession } from '../session/session-codec.js'
import type { SessionDocument } from '../session/session-document.js'
import { deepFreeze } from '../util/json.js'
import { isSessionId } from '../util/patterns.js'
import type { EngineContext } from './engine-context.js'
import { type Caller, loadFor, reportForeign } from './foreign-session.js'

/**
 * A stored session, frozen; `undefined` where there is none.
 *
 * @param options - Where given, only a session of this owner is returned; without an `owner`, only one that has none.
 * @throws `SessionStoreError` where the store failed, `SessionFlowInvariantError` where the document is malformed.
 */
export async function getSession(
  engine: EngineContext,
  sessionId: string,
  options: Caller | undefined,
): Promise<SessionDocument | undefined> {
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return undefined
  const document =
    options === undefined
      ? await engine.session.access.load(sessionId)
      : await loadOwn(engine, sessionId, { owner: options.owner })
  return document === undefined ? undefined : deepFreeze(document)
}

async function loadOwn(engine: EngineContext, sessionId: string, caller: Caller): Promise<SessionDocument | undefined> {
  const { stored, isForeign, owner } = await loadFor(engine, sessionId, caller)
  if (isForeign) reportForeign(engine, { sessionId, operation: 'get' }, caller, owner)
  return stored === undefined ? undefined : decodeSession(stored, sessionId)
}
