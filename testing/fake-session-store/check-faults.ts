/** Checks a fault when it is prepared: a misspelt option, or an operation that no store has, would test nothing. */
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { list, show } from '../expectations/expectation-error.js'
import type { FakeStoreFault, FakeStoreMatch } from './faults.js'
import type { FakeStoreOperation } from './journal.js'
import type { FailOptions, HangOptions, OutageOptions, RivalOptions, RivalWriteOptions } from './options.js'

const operations: Readonly<Record<FakeStoreOperation, true>> = {
  load: true,
  create: true,
  save: true,
  delete: true,
  claim: true,
  isDeleted: true,
  lease: true,
  list: true,
  close: true,
}

const match: OptionNames<FakeStoreMatch> = { nth: true, times: true, sessionId: true, when: true }
const hanging: OptionNames<HangOptions> = { after: true, latencyMs: true, ...match }
const failing: OptionNames<FailOptions> = { atOnce: true, error: true, ...hanging }
const deleting: OptionNames<RivalOptions> = { before: true, ...match }
const writing: OptionNames<RivalWriteOptions> = { change: true, ...deleting }
const outage: OptionNames<OutageOptions> = { hang: true, error: true, sessionId: true, when: true }
const fault: OptionNames<FakeStoreFault> = {
  operation: true,
  effect: true,
  error: true,
  latencyMs: true,
  change: true,
  answer: true,
  ...match,
}

/** A method of `FakeSessionStore` that prepares a fault. */
export type FaultMethod =
  | 'failNext'
  | 'hangNext'
  | 'delayNext'
  | 'rivalWrites'
  | 'rivalDeletes'
  | 'staleRead'
  | 'answerNext'
  | 'outage'
  | 'inject'

const namesOf: Readonly<Record<FaultMethod, object>> = {
  failNext: failing,
  hangNext: hanging,
  delayNext: match,
  rivalWrites: writing,
  rivalDeletes: deleting,
  staleRead: match,
  answerNext: match,
  outage,
  inject: fault,
}

/** @throws `InvalidInputError` for an option that the method does not have. */
export function checkFaultOptions(method: FaultMethod, options: object): void {
  checkOptionNames(method, options, namesOf[method])
}

/**
 * @throws `InvalidInputError` for an operation that no store has, for a count that is not a whole number of at least 1,
 * and for a latency that is missing or not a number of milliseconds.
 */
export function checkFault(method: FaultMethod, prepared: FakeStoreFault): void {
  const { operation, latencyMs, nth = 1, times = 1 } = prepared
  if (operation !== undefined && !Object.hasOwn(operations, operation)) {
    const known = list(Object.keys(operations))
    throw invalidInput(`${method}: a store has no operation ${show(operation)}. Its operations: ${known}.`)
  }
  if (method === 'delayNext' || latencyMs !== undefined) {
    checkNumber(method, method === 'delayNext' ? 'ms' : 'latencyMs', latencyMs, { min: 0 })
  }
  checkNumber(method, 'nth', nth, { min: 1, whole: true, finite: true })
  checkNumber(method, 'times', times, { min: 1, whole: true })
}
