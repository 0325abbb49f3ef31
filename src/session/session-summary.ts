/**
 * What a listing shows of a session, made from whatever is stored: only the fields that it shows are read and checked,
 * never a list. Which sessions a page has is decided by the stores.
 */
import { invalidInput } from '../errors/engine-errors.js'
import { isPlainObject } from '../util/json.js'
import type { SessionListQuery, SessionSummary } from './session-store.js'

/** What `list` returns. */
export interface SessionPage {
  readonly sessions: readonly SessionSummary[]
  readonly unreadable?: number
  readonly cursor?: string
}

const runStatuses: readonly unknown[] = ['running', 'completed', 'aborted']

/** The summary of a document, or of one without its lists; `undefined` if it is not a session. */
export function summaryOf(document: unknown): SessionSummary | undefined {
  if (!isPlainObject(document) || !isPlainObject(document.flow)) return undefined
  const { id, owner, runStatus, createdAt, savedAt, turns, flow } = document
  const texts: unknown[] = [id, createdAt, savedAt, flow.name, owner ?? '']
  if (!texts.every((text) => typeof text === 'string')) return undefined
  if (!runStatuses.includes(runStatus) || typeof turns !== 'number') return undefined
  const summary = { id, flowName: flow.name, runStatus, ...(owner === undefined ? {} : { owner }) }
  return { ...summary, createdAt, savedAt, turns } as SessionSummary
}

/** Whether a store of an application returned a page. */
export function isPage(value: unknown): value is SessionPage {
  const { sessions, unreadable = 0, cursor = '-' } = Object(value) as Partial<Record<keyof SessionPage, unknown>>
  if (!Number.isSafeInteger(unreadable) || (unreadable as number) < 0) return false
  return Array.isArray(sessions) && sessions.every(isSummary) && typeof cursor === 'string' && cursor !== ''
}

function isSummary(value: unknown): boolean {
  const { flowName: name, ...fields } = Object(value) as SessionSummary
  return summaryOf({ ...fields, flow: { name } }) !== undefined
}

/** Whether a session is one of those that a query asks for. */
export function isListed(summary: SessionSummary, query: SessionListQuery): boolean {
  const { owner, flowName, runStatus, savedBefore } = query
  return (
    (owner === undefined || summary.owner === owner) &&
    (flowName === undefined || summary.flowName === flowName) &&
    (runStatus === undefined || summary.runStatus === runStatus) &&
    (savedBefore === undefined || summary.savedAt < savedBefore)
  )
}

/** Values as a cursor: a text that carries them, and says nothing to anybody else. */
export function toCursor(values: readonly unknown[]): string {
  return encodeURIComponent(JSON.stringify(values))
}

/**
 * The values of a cursor.
 *
 * @param isValid - Whether they are what this store puts into a cursor.
 * @throws `InvalidInputError` for any other text.
 */
export function fromCursor<Values extends readonly unknown[]>(
  cursor: string,
  isValid: (values: readonly unknown[]) => boolean,
): Values {
  try {
    const values: unknown = JSON.parse(decodeURIComponent(cursor))
    if (Array.isArray(values) && isValid(values)) return values as unknown as Values
  } catch {
    // Refused below.
  }
  throw invalidInput('The cursor is not one of this store: pass the one of the page before, as it is.')
}
