/**
 * Makes pages for a backend that can only return all its keys. The keys are sorted, so that each session is on exactly
 * one page.
 */
import { fromCursor, toCursor } from '../../../session/session-summary.js'
import type { ListedPage, ListedSession, SessionListing, StoredHead } from '../driver/session-driver.js'

/** The number of sessions that are read for one page, unless the page's limit is higher. */
const readAtOnce = 1_000

/** The result of reading one key for a listing. */
export type Listed = Awaited<ReturnType<SessionListing['read']>>

/**
 * One page of the requested sessions. The owner of an unreadable session is not known here.
 *
 * @param keys - All keys of the backend.
 * @param find - Reads the session under a key; `undefined` if it is gone, or is not a session.
 */
export async function pageOf(
  keys: readonly string[],
  listing: SessionListing,
  find: (key: string) => Pick<StoredHead, 'revision' | 'head'> | undefined | Promise<StoredHead | undefined>,
): Promise<ListedPage> {
  const { prefix, limit, cursor } = listing
  const [after] = cursor === undefined ? [undefined] : fromCursor<[string]>(cursor, isKey)
  const rest = keys.filter((key) => key.startsWith(prefix) && (after === undefined || key > after)).sort()
  const read = rest.slice(0, Math.max(limit, readAtOnce))
  const listed = await readAll(read, listing, find)
  const found = sessionsOf(listing.ownerKey, listed)
  const sessions = found.slice(0, limit)
  const last = found.length > limit ? sessions.at(-1)?.key : read.at(-1)
  const isLast = found.length <= limit && read.length === rest.length
  const counted = listed.slice(0, isLast ? undefined : read.indexOf(last as string) + 1)
  const unreadable = listing.ownerKey === undefined ? unreadableOf(counted) : {}
  return last === undefined || isLast
    ? { sessions, ...unreadable }
    : { sessions, ...unreadable, cursor: toCursor([last]) }
}

/** Reads all keys at the same time. */
export function readAll(
  keys: readonly string[],
  { read }: Pick<SessionListing, 'read'>,
  find: Parameters<typeof pageOf>[2],
): Promise<Listed[]> {
  return Promise.all(
    keys.map(async (key) => {
      const stored = await find(key)
      return stored === undefined ? undefined : read(key, stored)
    }),
  )
}

/** The sessions of the owner; all sessions if no owner is given. */
export function sessionsOf(ownerKey: string | undefined, listed: readonly Listed[]): ListedSession[] {
  return listed
    .filter((each) => each !== undefined && each !== 'unreadable')
    .filter((session) => ownerKey === undefined || session.ownerKey === ownerKey)
}

/** The page's field with the number of unreadable sessions. */
export function unreadableOf(listed: readonly Listed[]): Pick<ListedPage, 'unreadable'> {
  const unreadable = listed.filter((each) => each === 'unreadable').length
  return unreadable === 0 ? {} : { unreadable }
}

function isKey(values: readonly unknown[]): boolean {
  return values.length === 1 && typeof values[0] === 'string'
}
