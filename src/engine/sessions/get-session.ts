/** Loads one stored session for the application. */
import { decodeSession } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import { deepFreeze } from '../../util/json.js'
import { checkOptionNames, type OptionNames } from '../../util/options.js'
import { isSessionId } from '../../util/patterns.js'
import type { EngineContext } from '../core/engine-context.js'
import { type Caller, loadFor, reportForeign } from '../core/foreign-session.js'
import { checkRequestId } from '../input/check-input.js'

/**
 * A stored session, frozen; `undefined` if there is none.
 *
 * @param options - If given, returns only a session of this owner; without `owner`, only one that has none.
 * @throws `InvalidInputError` for invalid options; `SessionStoreError` if the store failed; `SessionFlowInvariantError`
 * if the document is malformed
 */
export async function getSession(
  engine: EngineContext,
  sessionId: string,
  options: GetOptions | undefined,
): Promise<SessionDocument | undefined> {
  const caller = options === undefined ? undefined : checkOptions(options)
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return undefined
  const document =
    caller === undefined ? await engine.session.access.load(sessionId) : await loadOwn(engine, sessionId, caller)
  return document === undefined ? undefined : deepFreeze(document)
}

/** The options, read once. */
type GetCaller = Caller & { readonly requestId: string | undefined }

type GetOptions = { readonly owner?: string; readonly requestId?: string }

const optionNames: OptionNames<GetOptions> = { owner: true, requestId: true }

function checkOptions(options: GetOptions): GetCaller {
  checkOptionNames('getSession', options, optionNames)
  return { owner: options.owner, requestId: checkRequestId(options.requestId) }
}

async function loadOwn(
  engine: EngineContext,
  sessionId: string,
  caller: GetCaller,
): Promise<SessionDocument | undefined> {
  const { stored, isForeign, owner } = await loadFor(engine, sessionId, caller)
  if (isForeign) reportForeign(engine, { sessionId, operation: 'get', requestId: caller.requestId }, caller, owner)
  return stored === undefined ? undefined : decodeSession(stored, sessionId)
}
