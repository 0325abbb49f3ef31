/**
 * Pages of the sessions in a SQL database, in the order of their rows, so that each session is on exactly one page. The
 * column `owner` has the key of the owner, or an empty text where there is none. It is NULL in rows that an earlier
 * release wrote: before the first page of an owner's sessions it is filled in from their heads.
 */
import { fromCursor, toCursor } from '../../../session/session-summary.js'
import type { ListedPage, SessionListing } from '../session-driver.js'
import { type Listed, sessionsOf, unreadableOf } from './page-of-keys.js'
import { decodeText, encodeText } from './text-escapes.js'

/** Rows whose owner is filled in for one page. */
const filledAtOnce = 200

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
  /** Rows after `id`, at most so many: all, those of an owner, or those without an owner in their column. */
  rows(after: string, limit: number): Promise<ListedRow[]>
  ownedRows(ownerKey: string, after: string, limit: number): Promise<ListedRow[]>
  unfilledRows(after: string, limit: number): Promise<ListedRow[]>
  /** Fills in the owner of rows that have none, by key. Both texts are as they are stored. */
  fill(owners: readonly (readonly [key: string, ownerKey: string])[]): Promise<unknown>
}

/** `fill`: the rows up to `id` were filled in, and no page was made yet. */
type Place = readonly [phase: 'fill' | 'list', id: string]

/** One page. */
export async function sqlPage(statements: SqlListingStatements, listing: SessionListing): Promise<ListedPage> {
  const { ownerKey, limit, cursor } = listing
  const start: Place = [ownerKey === undefined ? 'list' : 'fill', '0']
  const [phase, id] = cursor === undefined ? start : fromCursor<Place>(cursor, isPlace)
  if (phase === 'fill') {
    const filled = await fillOwners(statements, listing, id)
    if (filled !== undefined) return { sessions: [], cursor: toCursor(['fill', filled]) }
  }
  const after = phase === 'fill' ? '0' : id
  const rows = await (ownerKey === undefined
    ? statements.rows(after, limit)
    : statements.ownedRows(encodeText(ownerKey), after, limit))
  const listed = await readRows(rows, listing)
  const found = { sessions: sessionsOf(ownerKey, listed), ...unreadableOf(listed) }
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? found : { ...found, cursor: toCursor(['list', String(last.id)]) }
}

/** The owner as the column has it, for a session that is created. */
export function ownerColumn(ownerKey: string | undefined): string {
  return encodeText(ownerKey ?? '')
}

/** Fills in some rows. The ID of the last one where there may be more; rows that cannot be read stay as they are. */
async function fillOwners(
  statements: SqlListingStatements,
  listing: SessionListing,
  after: string,
): Promise<string | undefined> {
  const rows = await statements.unfilledRows(after, filledAtOnce)
  const listed = await readRows(rows, listing)
  const owners = rows.flatMap(({ key }, index) => {
    const session = listed[index]
    return session === undefined || session === 'unreadable' ? [] : [[key, ownerColumn(session.ownerKey)] as const]
  })
  if (owners.length > 0) await statements.fill(owners)
  return rows.length < filledAtOnce ? undefined : String(rows.at(-1)?.id)
}

function readRows(rows: readonly ListedRow[], { read }: SessionListing): Promise<Listed[]> {
  return Promise.all(
    rows.map(({ key, revision, head }) =>
      read(decodeText(key), { revision: decodeText(revision), head: decodeText(head) }),
    ),
  )
}

function isPlace([phase, id, ...rest]: readonly unknown[]): boolean {
  const isPhase = phase === 'fill' || phase === 'list'
  return isPhase && typeof id === 'string' && /^\d{1,19}$/.test(id) && rest.length === 0
}
