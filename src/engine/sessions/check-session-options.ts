/** Checks the options of operations on many sessions, before the store is used. */
import type { SessionListQuery, SessionSummary } from '../../session/session-store.js'
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../util/options.js'
import type { ListSessionsQuery, SweepOptions } from './session-options.js'

const defaultLimit = 100
const largestLimit = 1_000

/** The longest cursor, in characters: much longer than any store makes. */
const longestCursor = 1_000_000

const runStatuses: readonly unknown[] = ['running', 'completed', 'aborted'] satisfies SessionSummary['runStatus'][]

const queryNames: OptionNames<ListSessionsQuery> = {
  owner: true,
  flowName: true,
  step: true,
  runStatus: true,
  savedBefore: true,
  limit: true,
  cursor: true,
}

const sweepNames: OptionNames<SweepOptions> = {
  olderThan: true,
  status: true,
  timers: true,
  dryRun: true,
  onProgress: true,
}

/**
 * The query for the store.
 *
 * @throws `InvalidInputError`
 */
export function checkListQuery(query: ListSessionsQuery): SessionListQuery {
  const caller = 'listSessions'
  checkOptionNames(caller, query, queryNames)
  const { owner, flowName, step, runStatus, savedBefore, limit = defaultLimit, cursor } = query
  // An anonymous caller must not see everyone's sessions.
  if (owner === undefined && 'owner' in query) {
    throw invalidInput(`${caller}: name an owner, or leave owner out to list all sessions.`)
  }
  checkText(caller, 'owner', owner)
  checkText(caller, 'flowName', flowName)
  checkText(caller, 'step', step)
  checkStatus(caller, 'runStatus', runStatus)
  checkText(caller, 'cursor', cursor)
  if (cursor !== undefined && cursor.length > longestCursor) {
    throw invalidInput(`${caller}: cursor must have at most ${longestCursor} characters.`)
  }
  checkNumber(caller, 'limit', limit, { min: 1, max: largestLimit, whole: true, finite: true })
  return {
    limit,
    ...(owner === undefined ? {} : { owner }),
    ...(flowName === undefined ? {} : { flowName }),
    ...(step === undefined ? {} : { step }),
    ...(runStatus === undefined ? {} : { runStatus }),
    ...(savedBefore === undefined ? {} : { savedBefore: checkTime(caller, savedBefore) }),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

/** @throws `InvalidInputError` */
export function checkOwner(caller: string, owner: string): void {
  if (owner === undefined) throw invalidInput(`${caller}: owner must be a string that is not empty.`)
  checkText(caller, 'owner', owner)
}

/** @throws `InvalidInputError` */
export function checkSweepOptions(options: SweepOptions): void {
  const caller = 'sweep'
  checkOptionNames(caller, options, sweepNames)
  const { olderThan, status, timers, dryRun, onProgress } = options
  checkNumber(caller, 'olderThan (milliseconds)', olderThan, { min: 0, finite: true })
  checkStatus(caller, 'status', status)
  if (timers !== undefined && timers !== 'keep' && timers !== 'ignore') {
    throw invalidInput(`${caller}: timers must be 'keep' or 'ignore'.`)
  }
  if (dryRun !== undefined && typeof dryRun !== 'boolean') throw invalidInput(`${caller}: dryRun must be a boolean.`)
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw invalidInput(`${caller}: onProgress must be a function.`)
  }
}

function checkText(caller: string, name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'string' && value !== '')) return
  throw invalidInput(`${caller}: ${name} must be a string that is not empty.`)
}

function checkStatus(caller: string, name: string, value: unknown): void {
  if (value === undefined || runStatuses.includes(value)) return
  throw invalidInput(`${caller}: ${name} must be running, completed or aborted.`)
}

/** In the format of `savedAt`, so that texts can be compared. */
function checkTime(caller: string, value: unknown): string {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw invalidInput(`${caller}: savedBefore must be a time in ISO 8601.`)
  return new Date(time).toISOString()
}
