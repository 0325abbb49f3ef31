/**
 * A page of a backend that can only give all its keys: they are sorted, so that each session is on exactly one page.
 */
import { fromCursor, toCursor } from '../../../session/session-summary.js'
import type { ListedPage, ListedSession, SessionListing, StoredHead } from '../driver/session-driver.js'

/** Sessions that one page goes through, where its limit is below. */
const readAtOnce = 1_000

/** What is listed under one key. */
export type Listed = Awaited<ReturnType<SessionListing['read']>>

/**
 * A page of the sessions that the listing asks for. Nothing here says whose session an unreadable one is.
 *
 * @param keys - All keys of the backend.
 * @param find - What is stored under a key; `undefined` where it is gone, or no session.
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

/** What is listed under each key. The keys are read at the same time. */
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

/** The sessions of the owner; all where no owner is asked for. */
export function sessionsOf(ownerKey: string | undefined, listed: readonly Listed[]): ListedSession[] {
  return listed
    .filter((each) => each !== undefined && each !== 'unreadable')
    .filter((session) => ownerKey === undefined || session.ownerKey === ownerKey)
}

/** The field of a page that says how many sessions cannot be read. */
export function unreadableOf(listed: readonly Listed[]): Pick<ListedPage, 'unreadable'> {
  const unreadable = listed.filter((each) => each === 'unreadable').length
  return unreadable === 0 ? {} : { unreadable }
}

function isKey(values: readonly unknown[]): boolean {
  return values.length === 1 && typeof values[0] === 'string'
}
