/**
 * Removes every session of an owner. Other stored data contains nothing about the owner: see
 * docs/decisions/listing-and-erasure.md.
 */
import { atMost } from '../core/at-most.js'
import type { EngineContext } from '../core/engine-context.js'
import { longestTurnMs } from '../core/engine-limits.js'
import { checkOwner } from './check-session-options.js'
import { checkCanList, forEachSession } from './list-sessions.js'
import { removeListed } from './remove-listed.js'
import type { RemovedSessions } from './session-options.js'

/** The most listings in a row whose sessions all fail to be removed. */
const fruitlessListings = 3

/** The most listings whose sessions are removed: the owner may begin new ones all the time. */
const maxListings = 10

/**
 * Lists and removes until a listing is empty, because a turn may begin a session meanwhile. Sessions that are left
 * after the last listing count as failed, and so do those that a listing cannot read, because they have no ID.
 *
 * @throws `InvalidInputError`, `SessionStoreError`, `EngineClosedError`
 */
export async function eraseOwner(engine: EngineContext, owner: string): Promise<RemovedSessions> {
  checkOwner('eraseOwner', owner)
  checkCanList(engine)
  let deleted = 0
  for (let listings = 0, fruitless = 0; ; listings++) {
    await turnsSettled(engine, owner)
    const before = deleted
    const isLast = listings === maxListings
    let listed = 0
    const unreadable = await forEachSession(engine, { owner }, async (session) => {
      listed++
      if (!isLast && (await removeListed(engine, session)) === true) deleted++
    })
    if (listed === 0) return { deleted, failed: unreadable }
    fruitless = deleted > before ? 0 : fruitless + 1
    if (isLast || fruitless === fruitlessListings) return { deleted, failed: listed + unreadable }
  }
}

/**
 * Waits for the owner's turns in this engine, because a listing has the session of a first turn only once the turn is
 * stored.
 */
async function turnsSettled(engine: EngineContext, owner: string): Promise<void> {
  const turns = engine.admission.turnsOf(owner)
  if (turns.length === 0) return
  await atMost(engine, longestTurnMs(engine.limits), Promise.all(turns.map(({ outcome }) => outcome)))
}
