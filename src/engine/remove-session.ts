/**
 * Removes one stored session. It is removed by its current revision, so that a newer document is not lost, and without a
 * check of its content, so that a malformed one can be removed too.
 */
import { isNewerLayout, isSessionConflict } from '../errors/session-errors.js'
import type { FlowSession } from '../session/flow-session.js'
import type { SharedDelete } from '../session/lock-request.js'
import { ownerOf, refuseNewerLayout } from '../session/session-codec.js'
import type { LockHolder } from '../session/session-lock.js'
import { revisionOf } from '../session/store-access.js'
import { isSessionId } from '../util/patterns.js'
import type { EngineContext } from './engine-context.js'
import type { DeleteOptions, ExecuteDeleteResult } from './engine-options.js'
import { asFlowError, userText } from './error-text.js'
import { checkRequestId, checkSessionId } from './input/check-input.js'
import { deleteWait } from './lock-waits.js'
import { deleteFailure, deleteSuccess } from './turn/run-envelope.js'

/** Removes a session under its lock. A missing one, or an empty ID, is a success. Never rejects. */
export async function executeDelete(
  engine: EngineContext,
  sessionId: string,
  options: DeleteOptions | undefined,
): Promise<ExecuteDeleteResult> {
  if (sessionId === '') return deleteSuccess('')
  let request: Pick<DeleteOptions, 'requestId'> = {}
  try {
    const checkedId = checkSessionId(sessionId ?? null) as string
    const { requestId, ...whose } = readOptions(options ?? {})
    if (requestId !== undefined) request = { requestId }
    await removeOnce(engine, checkedId, options === undefined ? undefined : whose, request)
    return deleteSuccess(sessionId)
  } catch (error) {
    const flowError = asFlowError(error)
    const id = typeof sessionId === 'string' && isSessionId(sessionId) ? sessionId : ''
    return deleteFailure(id, userText(engine, flowError, { sessionId: id, flowName: '', ...request }), flowError)
  }
}

/** What was asked for. The caller's object is read once: its getters may throw. */
function readOptions({ owner, unreadable, requestId }: DeleteOptions): DeleteOptions {
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(requestId === undefined ? {} : { requestId: checkRequestId(requestId) as string }),
  }
}

/** Removes a session under its lock, or shares the place and the outcome of the same delete that waits last in the queue. */
function removeOnce(
  engine: EngineContext,
  sessionId: string,
  options: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'>,
): Promise<unknown> {
  const { session, events, clock } = engine
  const last = session.lastDelete(sessionId)
  if (last?.outcome !== undefined && isSame(last.options, options)) return last.outcome
  const own: SharedDelete = { options, outcome: undefined }
  const remove = async (holder: LockHolder): Promise<void> => {
    const isRemoved = await removeSession(session, holder, sessionId, options)
    if (isRemoved && events.hasListeners('session:deleted')) {
      events.emit('session:deleted', { sessionId, ...request, at: clock.now() })
    }
  }
  own.outcome = session.hold(sessionId, remove, () => deleteWait(engine, options, own))
  return own.outcome
}

function isSame(one: SharedDelete['options'], other: SharedDelete['options']): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.owner === other.owner && one.unreadable === other.unreadable
}

/**
 * Removes a session. The caller holds its lock, or is a stranger to it.
 *
 * @param options - Where given, only a session of this owner is removed; without an `owner`, only one that has none.
 * @returns Whether there was one to remove.
 */
export async function removeSession(
  session: FlowSession,
  holder: LockHolder,
  sessionId: string,
  options: DeleteOptions | undefined,
): Promise<boolean> {
  const { access } = session
  let stored: unknown
  try {
    stored = await access.loadUnchecked(sessionId)
  } catch (error) {
    if (!mayRemoveUnread(error, options) || holder.isStranger) return false
    await access.remove(sessionId, undefined, holder)
    return true
  }
  session.setOwner(holder, stored)
  if (stored === undefined || holder.isStranger) return false
  if (options !== undefined) {
    if (ownerOf(stored) !== options.owner) return false
    const { version } = Object(stored) as { version?: unknown }
    refuseNewerLayout(version, sessionId)
  }
  await access.remove(sessionId, revisionOf(stored), holder)
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
