/**
 * Removes one stored session: by its current revision, so that nobody's newer document goes with it, and without
 * looking inside, so that a malformed one can go too.
 */
import { isSessionConflict } from '../errors/session-errors.js'
import { revisionOf, type StoreAccess } from '../session/store-access.js'
import type { DeleteOptions } from './engine-options.js'

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
    // A store says so where something is stored that it cannot read: there is no revision to go by, and no owner.
    if (!isSessionConflict(error)) throw error
    if (options !== undefined) return false
    await access.remove(sessionId, undefined)
    return true
  }
  if (stored === undefined) return false
  if (options !== undefined && (Object(stored) as { owner?: unknown }).owner !== options.owner) return false
  await access.remove(sessionId, revisionOf(stored))
  return true
}
