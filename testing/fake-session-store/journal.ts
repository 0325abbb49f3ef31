/**
 * The calls that a store received, in order, and how they are compared and shown. The store decides what it answers.
 */
import type { SessionListQuery, SessionSaveHint } from '../../src/index.js'
import { differences, show } from '../expectations/expectation-error.js'
import { isListOf, isObject, isText } from '../expectations/value-kinds.js'

/** An operation of a store. */
export type FakeStoreOperation =
  | 'load'
  | 'create'
  | 'save'
  | 'delete'
  | 'claim'
  | 'isDeleted'
  | 'lease'
  | 'list'
  | 'close'

/** What a fault does: see the method of `FakeSessionStore` that prepares it. @inline */
export type FakeStoreEffect =
  | 'fail-before'
  | 'fail-after'
  | 'throw'
  | 'hang-before'
  | 'hang-after'
  | 'latency'
  | 'rival-write'
  | 'rival-delete'
  | 'stale-read'
  | 'answer'

/** One call, as the journal keeps it. */
export interface FakeStoreCall {
  readonly operation: FakeStoreOperation
  /** Empty for `list` and `close`. */
  readonly sessionId: string
  /** The key of a `claim`. */
  readonly key?: string
  /** The query of a `list`. */
  readonly query?: SessionListQuery
  /** The revision of the document to store. */
  readonly revision?: string
  readonly expectedRevision?: string
  /** The hint of a `save`, as passed by the engine: the lists that only grew. */
  readonly hint?: SessionSaveHint
  /** `pending` until the call settles. */
  outcome: 'pending' | 'done' | 'failed'
  /** The fault that applied to it, if one did. */
  fault?: FakeStoreEffect
}

/**
 * An expected call: `'save'` for one that succeeded, `'save failed'`, `'save pending'`, or some fields of
 * {@link FakeStoreCall} (`undefined`: it has none).
 *
 * @inline
 */
export type ExpectedStoreCall =
  | FakeStoreOperation
  | `${FakeStoreOperation} failed`
  | `${FakeStoreOperation} pending`
  | { readonly [Field in keyof FakeStoreCall]?: FakeStoreCall[Field] | undefined }

/**
 * How `journal` differs from the expected one; `undefined` if it does not.
 *
 * @param storedLast - The session that was stored last, in words. Default: none was.
 */
export function journalProblem(
  journal: readonly FakeStoreCall[],
  expected: readonly ExpectedStoreCall[],
  storedLast?: string,
): string | undefined {
  if (!isListOf(expected, (call) => isText(call) || isObject(call))) {
    return `expectJournal needs a list of calls, as in ['load', 'save failed']; got ${show(expected)}.`
  }
  const length = Math.max(journal.length, expected.length)
  for (let index = 0; index < length; index++) {
    const [call, wanted] = [journal[index], expected[index]]
    if (call !== undefined && wanted !== undefined && matches(call, wanted)) continue
    return [
      `The store's journal is not the expected one: call ${index + 1} ${difference(call, wanted)}.`,
      '',
      journalTable(journal, index),
      '',
      `Expected: ${listOf(expected.map(expectedInShort))}`,
      `Got:      ${listOf(journal.map(inShort))}`,
      ...(storedLast === undefined ? [] : ['', `Stored last: ${storedLast}`]),
    ].join('\n')
  }
  return undefined
}

/** Which faults did not apply as often as prepared, a line for each; `undefined` if all did. */
export function faultsProblem(unused: readonly string[], journal: readonly FakeStoreCall[]): string | undefined {
  if (unused.length === 0) return undefined
  return [
    `${unused.length === 1 ? 'A fault' : `${unused.length} faults`} of the store did not strike as often as prepared:`,
    ...unused.map((line) => `  - ${line}`),
    '',
    "The store's journal:",
    journalTable(journal),
    '',
    'Let the conversation come that far, or take the fault out of the test.',
  ].join('\n')
}

/** The journal as a table, a line for each call. The call at index `marked` gets an arrow. */
function journalTable(journal: readonly FakeStoreCall[], marked?: number): string {
  if (journal.length === 0) return '  (the store was not called)'
  const rows = journal.map(({ operation, outcome, sessionId, revision, expectedRevision, fault }, index) => [
    `${index === marked ? '>' : ' '} ${String(index + 1).padStart(String(journal.length).length)}`,
    operation,
    outcome,
    sessionId,
    revision ?? '',
    expectedRevision ?? '',
    fault ?? '',
  ])
  const table = [['', 'operation', 'outcome', 'session', 'revision', 'expected revision', 'fault'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function matches(call: FakeStoreCall, wanted: ExpectedStoreCall): boolean {
  if (typeof wanted === 'string') return inShort(call) === wanted
  return differences(wanted, call).length === 0
}

function difference(call: FakeStoreCall | undefined, wanted: ExpectedStoreCall | undefined): string {
  if (call === undefined) return `is missing; expected ${expectedInShort(wanted as ExpectedStoreCall)}`
  if (wanted === undefined) return `was not expected; got ${inShort(call)}`
  if (typeof wanted === 'string') return `should be ${wanted}, and is ${inShort(call)}`
  return `is not as expected (${differences(wanted, call).join('; ')})`
}

function inShort({ operation, outcome }: FakeStoreCall): string {
  return outcome === 'done' ? operation : `${operation} ${outcome}`
}

function expectedInShort(wanted: ExpectedStoreCall): string {
  return typeof wanted === 'string' ? wanted : JSON.stringify(wanted)
}

function listOf(calls: readonly string[]): string {
  return calls.length === 0 ? 'no call' : calls.join(', ')
}
