/** Lists the sessions in memory in pages, ordered by creation time, so that each session is on exactly one page. */
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'
import { fromCursor, isListed, type SessionPage, summaryOf, toCursor } from '../../session/session-summary.js'

/** The position of a session in that order. */
type Place = readonly [createdAt: string, id: string]

/** Returns one page. */
export function listDocuments(
  entries: Iterable<readonly [sessionId: string, document: SessionDocument]>,
  query: SessionListQuery,
): SessionPage {
  const { limit, cursor } = query
  const after = cursor === undefined ? undefined : fromCursor<Place>(cursor, isPlace)
  const found: SessionSummary[] = []
  for (const [, document] of entries) {
    const summary = summaryOf(document)
    if (summary === undefined || !isListed(summary, query)) continue
    if (after === undefined || isBefore(after, placeOf(summary))) found.push(summary)
  }
  found.sort((left, right) => (isBefore(placeOf(left), placeOf(right)) ? -1 : 1))
  const sessions = found.slice(0, limit)
  const last = sessions.at(-1)
  return last === undefined || found.length === sessions.length
    ? { sessions }
    : { sessions, cursor: toCursor(placeOf(last)) }
}

function placeOf({ createdAt, id }: SessionSummary): Place {
  return [createdAt, id]
}

function isBefore([createdAt, id]: Place, other: Place): boolean {
  return createdAt < other[0] || (createdAt === other[0] && id < other[1])
}

function isPlace(values: readonly unknown[]): boolean {
  return values.length === 2 && values.every((value) => typeof value === 'string')
}
