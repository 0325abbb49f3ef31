/**
 * Reads from a head, without the lists, what a listing needs: the summary, and the owner in the form that drivers get,
 * a digest.
 */
import type { SessionDocument } from '../../../session/session-document.js'
import { summaryOf } from '../../../session/session-summary.js'
import { isPlainObject } from '../../../util/json.js'
import type { ListedSession, SessionListing, SessionOwner } from '../driver/session-driver.js'
import type { ChosenDriver } from './chosen-driver.js'
import type { SessionTextPlace } from './codec.js'
import { headName } from './head.js'
import { isSessionKey, ownerKey } from './keys.js'

/** See {@link ownedHeads}. */
export interface OwnedHeads {
  /** The key of an owner, with the namespace. */
  keyOfOwner(owner: string): Promise<string>
  /** The owner of a session; `undefined` if it has none. */
  ownerOf(document: Pick<SessionDocument, 'owner' | 'createdAt'>): Promise<SessionOwner | undefined>
  /** The owner of the session stored under a key; also `undefined` if nothing is stored, or the head is unreadable. */
  storedOwner(key: string): Promise<SessionOwner | undefined>
  /** As {@link SessionListing.read}. */
  readonly read: SessionListing['read']
}

/** Reads the heads of one store. */
export function ownedHeads({ driver, codec, keyOf }: ChosenDriver): OwnedHeads {
  const prefix = keyOf('')

  async function keyOfOwner(owner: string): Promise<string> {
    return keyOf(await ownerKey(owner))
  }

  async function ownerOf({
    owner,
    createdAt,
  }: Pick<SessionDocument, 'owner' | 'createdAt'>): Promise<SessionOwner | undefined> {
    return owner === undefined ? undefined : { ownerKey: await keyOfOwner(owner), createdAt }
  }

  const read: SessionListing['read'] = async (key, { revision, head: text }) => {
    const sessionId = key.slice(prefix.length)
    if (!key.startsWith(prefix) || !isSessionKey(sessionId)) return undefined
    // The ID cannot be recovered from a hashed key. If a hook depends on the ID, such a head is unreadable here.
    const head: unknown = await decode(text, { sessionId, key: headName, revision }).catch(() => undefined)
    const summary = isPlainObject(head) ? summaryOf(head.document) : undefined
    if (summary === undefined) return 'unreadable'
    return { key, summary, ...(await ownerOf(summary)) } satisfies ListedSession
  }

  /** Rejects if the codec throws. */
  async function decode(text: string, place: SessionTextPlace): Promise<unknown> {
    return codec.decode(text, place)
  }

  async function storedOwner(key: string): Promise<SessionOwner | undefined> {
    // A session that the backend refuses to read may still be removed.
    const stored = await driver.read(key, []).catch(() => undefined)
    const listed = stored && (await read(key, stored))
    if (listed === undefined || listed === 'unreadable') return undefined
    const { ownerKey, createdAt } = listed
    return ownerKey === undefined || createdAt === undefined ? undefined : { ownerKey, createdAt }
  }

  return { keyOfOwner, ownerOf, storedOwner, read }
}
