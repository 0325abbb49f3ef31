/**
 * Lists the sessions of a SQL database in pages, in the order of their rows, so that each session is on exactly one
 * page. The column `owner` has the key of the owner, or an empty text if the session has no owner.
 */
import { fromCursor, toCursor } from '../../../session/session-summary.js'
import type { ListedPage, SessionListing, SessionOwner } from '../driver/session-driver.js'
import { type Listed, sessionsOf, unreadableOf } from './page-of-keys.js'
import { decodeText, encodeText } from './text-escapes.js'

/** A row of a session. */
export interface ListedRow {
  /** Ascending in the order in which sessions were created. */
  readonly id: number | string
  readonly key: string
  readonly revision: string
  readonly head: string
}

/** The statements of a driver. */
export interface SqlListingStatements {
  /** The rows after the row `after`, at most `limit`. `ownedRows` returns only the rows of one owner. */
  rows(after: string, limit: number): Promise<ListedRow[]>
  ownedRows(ownerKey: string, after: string, limit: number): Promise<ListedRow[]>
}

/** The row of the last session of a page. */
type Place = readonly [id: string]

/** Returns one page. */
export async function sqlPage(statements: SqlListingStatements, listing: SessionListing): Promise<ListedPage> {
  const { ownerKey, limit, cursor } = listing
  const [after] = cursor === undefined ? ['0'] : fromCursor<Place>(cursor, isPlace)
  const rows = await (ownerKey === undefined
    ? statements.rows(after, limit)
    : statements.ownedRows(encodeText(ownerKey), after, limit))
  const listed = await readRows(rows, listing)
  const found = { sessions: sessionsOf(ownerKey, listed), ...unreadableOf(listed) }
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? found : { ...found, cursor: toCursor([String(last.id)]) }
}

/** The value of the column `owner` for a new session. */
export function ownerColumn(owner: SessionOwner | undefined): string {
  return encodeText(owner?.ownerKey ?? '')
}

function readRows(rows: readonly ListedRow[], { read }: SessionListing): Promise<Listed[]> {
  return Promise.all(
    rows.map(({ key, revision, head }) =>
      read(decodeText(key), { revision: decodeText(revision), head: decodeText(head) }),
    ),
  )
}

function isPlace([id, ...rest]: readonly unknown[]): boolean {
  return typeof id === 'string' && /^\d{1,19}$/.test(id) && rest.length === 0
}
