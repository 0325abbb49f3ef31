/** Loads one stored session, or its summary, for the application. */
import { SessionFlowInvariantError } from '../../errors/session-errors.js'
import { decodeSession } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionSummary } from '../../session/session-store.js'
import { isSummary, summaryIn } from '../../session/session-summary.js'
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
  const caller = options === undefined ? undefined : checkOptions('getSession', options)
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return undefined
  if (caller === undefined) return frozen(await engine.session.access.load(sessionId))
  const stored = await loadOwn(engine, sessionId, caller)
  return frozen(stored === undefined ? undefined : decodeSession(stored, sessionId))
}

/** As {@link getSession}, without reading the conversation if the store has `summary`. */
export async function getSummary(
  engine: EngineContext,
  sessionId: string,
  options: GetOptions,
): Promise<SessionSummary | undefined> {
  const caller = checkOptions('getSummary', options)
  if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return undefined
  const stored = await loadOwn(engine, sessionId, { ...caller, isBrief: true })
  if (stored === undefined) return undefined
  if (engine.session.access.store.summary === undefined) return summaryIn(decodeSession(stored, sessionId), sessionId)
  if (isSummary(stored)) return stored
  throw new SessionFlowInvariantError({ sessionId, problem: 'its store returned no summary' })
}

/** The options, read once. */
type GetCaller = Caller & { readonly requestId: string | undefined; readonly isBrief?: boolean }

type GetOptions = { readonly owner?: string; readonly requestId?: string }

const optionNames: OptionNames<GetOptions> = { owner: true, requestId: true }

function checkOptions(method: string, options: GetOptions): GetCaller {
  checkOptionNames(method, options, optionNames)
  return { owner: options.owner, requestId: checkRequestId(options.requestId) }
}

function frozen(document: SessionDocument | undefined): SessionDocument | undefined {
  return document === undefined ? undefined : deepFreeze(document)
}

/** What is stored for the caller, unchecked. */
async function loadOwn(engine: EngineContext, sessionId: string, caller: GetCaller): Promise<unknown> {
  const { stored, isForeign, owner } = await loadFor(engine, sessionId, caller)
  if (isForeign) reportForeign(engine, { sessionId, operation: 'get', requestId: caller.requestId }, caller, owner)
  return stored
}
