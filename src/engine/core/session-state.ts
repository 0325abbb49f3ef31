/**
 * The state of a session that a failed turn did not load, so that the client knows whether the session goes on (design
 * 8.1).
 */

import { factsOf } from '../../errors/error-facts.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import { decodeSession } from '../../session/session-codec.js'
import type { EngineContext } from './engine-context.js'
import type { SessionState } from './engine-options.js'
import { loadFor, reportForeign } from './foreign-session.js'

/**
 * Reads the store once, without the lock. Another owner's session counts as none. Does not reject.
 *
 * @param turn - The known facts about the failed turn.
 */
export async function lookUpState(
  engine: EngineContext,
  sessionId: string,
  owner: unknown,
  turn: { readonly flowName?: string; readonly turnId?: string; readonly requestId?: string },
): Promise<SessionState> {
  if (sessionId === '') return 'none'
  const isOwner = owner === undefined || (typeof owner === 'string' && owner !== '')
  if (engine.session.closing || !isOwner) return 'unknown'
  try {
    const found = await loadFor(engine, sessionId, { owner })
    if (found.isForeign) reportForeign(engine, { ...turn, sessionId, operation: 'run' }, { owner }, found.owner)
    return found.stored === undefined ? 'none' : decodeSession(found.stored, sessionId).runStatus
  } catch {
    return 'unknown'
  }
}

/** The state of a session that a failed turn never loaded; `undefined` if the store must be read. */
export function stateUnseen(error: AnyFlowError): SessionState | undefined {
  if (error.code === 'LIMIT_EXCEEDED') {
    // Only a session in use has a queue.
    if (error.limit === 'maxQueuedTurnsPerSession') return 'running'
    // Refused turns must not keep the store busy.
    if (error.limit === 'maxConcurrentTurnsPerOwner') return 'unknown'
  }
  const { unseen } = factsOf(error.code)
  return unseen === 'ask' ? undefined : unseen
}
