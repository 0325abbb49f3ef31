/**
 * Removes one stored session by its current revision, so that a newer document is not lost, and without checking its
 * content, so that a malformed one can be removed too.
 */
import {
  isNewerLayout,
  isSessionConflict,
  SessionConflictError,
  type SessionFlowInvariantError,
} from '../../errors/session-errors.js'
import type { LockHolder } from '../../session/lock/lock-line.js'
import type { SharedDelete } from '../../session/lock/lock-request.js'
import { ownerOf, refuseNewerLayout } from '../../session/session-codec.js'
import { revisionOf } from '../../session/store-access.js'
import { isSessionId } from '../../util/patterns.js'
import type { EngineContext } from '../core/engine-context.js'
import type { DeleteOptions, ExecuteDeleteResult } from '../core/engine-options.js'
import { asFlowError, userText } from '../core/error-text.js'
import { type Found, loadFor, reportForeign, reportUnreadable } from '../core/foreign-session.js'
import { deleteFailure, deleteSuccess } from '../core/run-envelope.js'
import { checkRequestId, checkSessionId } from '../input/check-input.js'
import { deleteWait } from '../lock/lock-waits.js'

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

/** The request. The caller's object is read once, because its getters may throw. */
function readOptions({ owner, unreadable, requestId }: DeleteOptions): DeleteOptions {
  return {
    ...(owner === undefined ? {} : { owner }),
    ...(unreadable === undefined ? {} : { unreadable }),
    ...(requestId === undefined ? {} : { requestId: checkRequestId(requestId) as string }),
  }
}

/** Removes a session under its lock, or shares the place and outcome of an equal delete that is last in the queue. */
function removeOnce(
  engine: EngineContext,
  sessionId: string,
  options: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'>,
): Promise<unknown> {
  const { session } = engine
  const last = session.lastDelete(sessionId, options)
  if (last?.outcome !== undefined && isSame(last.options, options)) return last.outcome
  const own: SharedDelete = { options, outcome: undefined }
  const remove = (holder: LockHolder): Promise<boolean> => removeAndReport(engine, holder, sessionId, options, request)
  own.outcome = session.hold(sessionId, remove, () => deleteWait(engine, options, own))
  return own.outcome
}

/** Removes a session like {@link removeSession}, and reports it. */
export async function removeAndReport(
  engine: EngineContext,
  holder: LockHolder,
  sessionId: string,
  options: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'>,
  isDue?: (stored: unknown) => boolean,
): Promise<boolean> {
  const { events, clock } = engine
  const removed = await removeSession(engine, holder, sessionId, options, request, isDue)
  if (removed !== undefined) engine.wakeTimers.get(sessionId)?.()
  if (removed !== undefined && events.hasListeners('session:deleted')) {
    events.emit('session:deleted', { sessionId, ...removed, ...request, at: clock.now() })
  }
  return removed !== undefined
}

function isSame(one: SharedDelete['options'], other: SharedDelete['options']): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.owner === other.owner && one.unreadable === other.unreadable
}

/**
 * Removes a session, or keeps the ID from being used if there is none. The caller holds its lock, or does not own it.
 *
 * @param options - If given, removes only a session of this owner; without `owner`, only one that has none.
 * @param request - The ID of the request, for the event. Default: none.
 * @param isDue - Whether what is stored now is to be removed. Default: it is.
 * @returns the owner of the removed session, if it could be read; `undefined` if none was removed
 */
export async function removeSession(
  engine: EngineContext,
  holder: LockHolder,
  sessionId: string,
  options: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'> = {},
  isDue?: (stored: unknown) => boolean,
): Promise<{ readonly owner?: string } | undefined> {
  const remove = (): ReturnType<typeof removeFound> => removeFound(engine, holder, sessionId, options, request, isDue)
  const removed = await remove()
  if (removed !== 'created') return removed
  // Whose session was created is not known: it is loaded once more.
  const again = await remove()
  if (again === 'created') throw new SessionConflictError({ sessionId })
  return again
}

/** As {@link removeSession}; `created` if a session was created after nothing had been found. */
async function removeFound(
  engine: EngineContext,
  holder: LockHolder,
  sessionId: string,
  options: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'>,
  isDue: ((stored: unknown) => boolean) | undefined,
): Promise<{ readonly owner?: string } | 'created' | undefined> {
  const { access } = engine.session
  let found: Pick<Found, 'stored' | 'isForeign'> = { stored: undefined, isForeign: true }
  try {
    found = await load(engine, holder, sessionId, options, request)
  } catch (error) {
    if (mayRemoveUnread(error, options) && !holder.isStranger) {
      await access.remove(sessionId, undefined, holder)
      return named((error as Partial<SessionFlowInvariantError>).owner)
    }
  }
  const { stored, isForeign } = found
  if (stored === undefined || holder.isStranger) {
    return (await keepFromUse(engine, holder, sessionId, isForeign)) ? undefined : 'created'
  }
  if (options !== undefined) refuseNewerLayout((Object(stored) as { version?: unknown }).version, sessionId)
  if (isDue !== undefined && !isDue(stored)) return undefined
  await access.remove(sessionId, revisionOf(stored), holder)
  return named(ownerOf(stored))
}

/**
 * Leaves the mark of a deleted session under an ID that has none, because a turn in another process may be about to
 * create it. The session of another owner stays: the store is asked all the same, so that it looks like an unknown one.
 *
 * @returns `false` if a session was created meanwhile
 */
async function keepFromUse(
  { session }: EngineContext,
  holder: LockHolder,
  sessionId: string,
  isForeign: boolean,
): Promise<boolean> {
  // A turn of another owner is about to create it.
  const isStarting = session.holdersOf(sessionId).some((other) => other !== holder && other.isOwn)
  if (isStarting && !isForeign) return true
  try {
    await session.access.markDeleted(sessionId, holder)
    return true
  } catch (error) {
    if (!isSessionConflict(error) || holder.isTaken) throw error
    return isForeign
  }
}

/** Loads the session that the caller may remove, and notes its owner in the lock. */
async function load(
  engine: EngineContext,
  holder: LockHolder,
  sessionId: string,
  caller: DeleteOptions | undefined,
  request: Pick<DeleteOptions, 'requestId'>,
): Promise<Pick<Found, 'stored' | 'isForeign'>> {
  const { session } = engine
  if (caller === undefined) {
    const stored = await session.access.loadUnchecked(sessionId).catch((error: unknown) => {
      reportUnreadable(engine, sessionId, error)
      throw error
    })
    session.setOwner(holder, stored)
    return { stored, isForeign: false }
  }
  const { stored, isForeign, owner } = await loadFor(engine, sessionId, caller, caller.unreadable)
  session.setOwner(holder, stored === undefined && !isForeign ? undefined : { owner })
  if (isForeign) reportForeign(engine, { ...request, sessionId, operation: 'delete' }, caller, owner)
  return { stored, isForeign }
}

function named(owner: unknown): { readonly owner?: string } {
  return typeof owner === 'string' ? { owner } : {}
}

/**
 * Whether a session that the store cannot read may be removed. Its revision is unknown, and usually its owner. Only the
 * application itself may remove a session of a newer release; its owner must use that release.
 *
 * @throws the store's error, if it is another failure, or refuses a session of this owner
 */
function mayRemoveUnread(error: unknown, options: DeleteOptions | undefined): boolean {
  if (!isSessionConflict(error)) throw error
  if (options === undefined) return true
  if (isNewerLayout(error)) throw error
  return options.unreadable === true
}
