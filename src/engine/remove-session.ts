/**
 * Removes one stored session. It is removed by its current revision, so that a newer document is not lost, and without a
 * check of its content, so that a malformed one can be removed too.
 */
import { isNewerLayout, isSessionConflict } from '../errors/session-errors.js'
import { refuseNewerLayout } from '../session/session-codec.js'
import { revisionOf, type StoreAccess } from '../session/store-access.js'
import { isSessionId } from '../util/patterns.js'
import type { EngineContext } from './engine-context.js'
import type { DeleteOptions, ExecuteDeleteResult } from './engine-options.js'
import { asFlowError, userText } from './error-text.js'
import { deleteWait } from './execute-turn.js'
import { checkSessionId } from './input/check-input.js'
import { deleteFailure, deleteSuccess } from './turn/run-envelope.js'

/** Removes a session under its lock. A missing one, or an empty ID, is a success. Never rejects. */
export async function executeDelete(
  engine: EngineContext,
  sessionId: string,
  options: DeleteOptions | undefined,
): Promise<ExecuteDeleteResult> {
  if (sessionId === '') return deleteSuccess('')
  try {
    const { session, events, clock } = engine
    const checkedId = checkSessionId(sessionId ?? null) as string
    const removed = await session.hold(
      checkedId,
      () => removeSession(session.access, checkedId, options),
      () => deleteWait(engine),
    )
    if (removed && events.hasListeners('session:deleted')) {
      events.emit('session:deleted', { sessionId, at: clock.now() })
    }
    return deleteSuccess(sessionId)
  } catch (error) {
    const flowError = asFlowError(error)
    const id = typeof sessionId === 'string' && isSessionId(sessionId) ? sessionId : ''
    return deleteFailure(id, userText(engine, flowError, { sessionId: id, flowName: '' }), flowError)
  }
}

/**
 * Removes a session. The caller holds its lock.
 *
 * @param options - Where given, only a session of this owner is removed; without an `owner`, only one that has none.
 * @returns Whether there was one to remove.
 */
export async function removeSession(
  access: StoreAccess,
  sessionId: string,
  options: DeleteOptions | undefined,
): Promise<boolean> {
  let stored: unknown
  try {
    stored = await access.loadUnchecked(sessionId)
  } catch (error) {
    if (!mayRemoveUnread(error, options)) return false
    await access.remove(sessionId, undefined)
    return true
  }
  if (stored === undefined) return false
  if (options !== undefined) {
    const { owner, version } = Object(stored) as { owner?: unknown; version?: unknown }
    if (owner !== options.owner) return false
    refuseNewerLayout(version, sessionId)
  }
  await access.remove(sessionId, revisionOf(stored))
  return true
}

/**
 * Whether a session may be removed that the store cannot read: no revision is known then, and mostly no owner. The application
 * itself may remove that of a newer release; its owner has to do it through that release.
 *
 * @throws What the store threw, where that is another failure, or refuses a session of this owner.
 */
function mayRemoveUnread(error: unknown, options: DeleteOptions | undefined): boolean {
  if (!isSessionConflict(error)) throw error
  if (options === undefined) return true
  if (!isNewerLayout(error)) return options.unreadable === true
  if (error.owner === options.owner) throw error
  return false
}
