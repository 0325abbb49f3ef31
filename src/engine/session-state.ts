/** The state of a session that a failed turn did not load: what a client reads to know whether its session goes on (design 8.1). */
import type { FlowError } from '../errors/flow-error.js'
import { isNewerLayout } from '../errors/session-errors.js'
import { decodeSession } from '../session/session-codec.js'
import type { EngineContext } from './engine-context.js'
import type { SessionState } from './engine-options.js'

/** Asks the store, once and without the lock. Another owner's session counts as none. Does not reject. */
export async function lookUpState(
  { session }: EngineContext,
  sessionId: string,
  owner: unknown,
): Promise<SessionState> {
  if (sessionId === '') return 'none'
  if (session.closing || (owner !== undefined && typeof owner !== 'string')) return 'unknown'
  try {
    const stored = await session.access.loadUnchecked(sessionId)
    if (stored === undefined || (Object(stored) as { owner?: unknown }).owner !== owner) return 'none'
    return decodeSession(stored, sessionId).runStatus
  } catch (error) {
    return isNewerLayout(error) && error.owner !== owner ? 'none' : 'unknown'
  }
}

/** The state of a session whose turn never began; `undefined` where the store has to be asked. */
export function stateOfRefused(error: FlowError, sessionId: string): SessionState | undefined {
  if (sessionId === '') return 'none'
  if (error.code === 'INVALID_INPUT') return undefined
  if (error.code !== 'LIMIT_EXCEEDED') return 'unknown'
  // Only a session that is in use has a queue.
  return (error as Partial<{ limit: string }>).limit === 'maxQueuedTurnsPerSession' ? 'running' : undefined
}
