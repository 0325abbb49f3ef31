/** A page of a backend that can only give all its keys: they are sorted, so that each session is on exactly one page. */
import { fromCursor, toCursor } from '../../../session/session-summary.js'
import type { ListedSession, SessionListing, StoredHead } from '../session-driver.js'

/** Sessions that one page goes through, where its limit is below. */
const readAtOnce = 1_000

/** What a driver returns of a listing. */
export interface ListedPage {
  readonly sessions: readonly ListedSession[]
  readonly cursor?: string
}

/**
 * A page of the sessions that the listing asks for.
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
  const found = await readAll(read, listing, find)
  const sessions = found.slice(0, limit)
  const last = found.length > limit ? sessions.at(-1)?.key : read.at(-1)
  const isLast = found.length <= limit && read.length === rest.length
  return last === undefined || isLast ? { sessions } : { sessions, cursor: toCursor([last]) }
}

/** Those of the keys under which there is a session that the listing asks for. They are read at the same time. */
export async function readAll(
  keys: readonly string[],
  { ownerKey, read }: Pick<SessionListing, 'ownerKey' | 'read'>,
  find: Parameters<typeof pageOf>[2],
): Promise<ListedSession[]> {
  const found = await Promise.all(
    keys.map(async (key) => {
      const stored = await find(key)
      return stored === undefined ? undefined : read(key, stored)
    }),
  )
  return found.filter((listed) => listed !== undefined).filter((listed) => isOf(ownerKey, listed))
}

/** Whether a session is one of the owner; any is where no owner is asked for. */
export function isOf(ownerKey: string | undefined, listed: ListedSession): boolean {
  return ownerKey === undefined || listed.ownerKey === ownerKey
}

function isKey(values: readonly unknown[]): boolean {
  return values.length === 1 && typeof values[0] === 'string'
}
