/**
 * The summary of a session for a listing. It is made from the stored data, whatever that is: only the fields that it
 * contains are read and checked, never a list. The stores decide which sessions are on a page.
 */
import { invalidInput } from '../errors/engine-errors.js'
import { SessionFlowInvariantError } from '../errors/session-errors.js'
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
  const { currentStep: step, wakeAt } = flow
  const texts: unknown[] = [id, createdAt, savedAt, flow.name, owner ?? '', wakeAt ?? '']
  if (!texts.every((text) => typeof text === 'string')) return undefined
  if (step !== null && typeof step !== 'string') return undefined
  if (!runStatuses.includes(runStatus) || typeof turns !== 'number') return undefined
  const summary = { id, flowName: flow.name, step, runStatus, ...(owner === undefined ? {} : { owner }) }
  return { ...summary, createdAt, savedAt, turns, ...(wakeAt === undefined ? {} : { wakeAt }) } as SessionSummary
}

/** The summary of a stored session. @throws `SessionFlowInvariantError` if it is not a session. */
export function summaryIn(document: unknown, sessionId: string): SessionSummary {
  const summary = summaryOf(document)
  if (summary !== undefined) return summary
  const { owner } = Object(document) as { readonly owner?: unknown }
  throw new SessionFlowInvariantError({
    sessionId,
    problem: 'it has no readable summary',
    owner: typeof owner === 'string' ? owner : undefined,
  })
}

/** Whether a value that an application's store returned is a page. */
export function isPage(value: unknown): value is SessionPage {
  const { sessions, unreadable = 0, cursor = '-' } = Object(value) as Partial<Record<keyof SessionPage, unknown>>
  if (!Number.isSafeInteger(unreadable) || (unreadable as number) < 0) return false
  return Array.isArray(sessions) && sessions.every(isSummary) && typeof cursor === 'string' && cursor !== ''
}

/** Whether a value that an application's store returned is a summary. */
export function isSummary(value: unknown): value is SessionSummary {
  const { flowName: name, step: currentStep, wakeAt, ...fields } = Object(value) as SessionSummary
  return summaryOf({ ...fields, flow: { name, currentStep, wakeAt } }) !== undefined
}

/** Whether a session meets the conditions of a query. */
export function isListed(summary: SessionSummary, query: SessionListQuery): boolean {
  const { owner, flowName, step, runStatus, savedBefore } = query
  return (
    (owner === undefined || summary.owner === owner) &&
    (flowName === undefined || summary.flowName === flowName) &&
    (step === undefined || summary.step === step) &&
    (runStatus === undefined || summary.runStatus === runStatus) &&
    (savedBefore === undefined || summary.savedAt < savedBefore)
  )
}

/** Encodes values as a cursor, which callers treat as opaque text. */
export function toCursor(values: readonly unknown[]): string {
  return encodeURIComponent(JSON.stringify(values))
}

/**
 * Decodes the values of a cursor.
 *
 * @param isValid - Whether the values can come from a cursor of this store.
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
  throw invalidInput('The cursor does not belong to this store: pass the cursor of the previous page unchanged.')
}
