/**
 * What every session store must do, as tests for any runner. The cases say what is expected; this module registers them
 * with the caller's `test`, each on its own stores, and leaves out the cases for options that the caller left out.
 */
import type { SessionStore } from '../../../src/index.js'
import { withDeadline } from '../cases/failure.js'
import { registerCases, type SuiteTest } from '../cases/register-cases.js'
import { allCases } from './all-cases.js'
import { createBench } from './bench/bench.js'
import type { SuiteCase } from './bench/suite-case.js'
import type { SessionStoreSuiteOptions } from './bench/suite-options.js'

export type { SuiteTest } from '../cases/register-cases.js'
export type { SessionStoreSuiteOptions } from './bench/suite-options.js'

const defaultDeadlineMs = 30_000

/**
 * Registers the tests that a {@link SessionStore} must pass. Session IDs are random, apart from a few hostile ones that
 * are emptied first; what the tests store stays behind. So give it data that can be thrown away, and let no other run
 * of the suite use them at the same time.
 *
 * @param test - Registers one test: that of vitest, Jest, Bun or `node:test`, or `Deno.test`.
 * @param createStore - Makes a fresh handle. The suite closes every handle that it gets.
 * @param options - A second handle, trouble on request, and what is left out.
 * @throws Error if `options.leaveOut` names no case, or gives no reason.
 *
 * @example With vitest. A file store has two handles on the same data as soon as it is made twice.
 * ```ts
 * import { describe, test } from 'vitest'
 *
 * describe('FileStore', () => {
 *   sessionStoreSuite(test, () => new FileStore('./test-sessions'), {
 *     corrupt: (sessionId) => writeFile(pathOf(sessionId), 'no document'),
 *     leaveOut: { 'outage: close settles in time, and calls after it reject': 'A disk is not connected to.' },
 *   })
 * })
 * ```
 * @example With node:test, and a store that keeps its data to itself.
 * ```ts
 * import { describe, test } from 'node:test'
 *
 * describe('MemorySessionStore', () => {
 *   sessionStoreSuite(test, () => new MemorySessionStore(), {
 *     reopen: (store) => new MemorySessionStore({ backing: (store as MemorySessionStore).backing }),
 *   })
 * })
 * ```
 */
export function sessionStoreSuite(
  test: SuiteTest,
  createStore: () => SessionStore | Promise<SessionStore>,
  options: SessionStoreSuiteOptions = {},
): void {
  registerCases(test, 'sessionStoreSuite', allCases, options, (suiteCase) => runCase(suiteCase, createStore, options))
}

async function runCase(
  { name, rule, run }: SuiteCase,
  createStore: () => SessionStore | Promise<SessionStore>,
  options: SessionStoreSuiteOptions,
): Promise<void> {
  const { deadlineMs = defaultDeadlineMs } = options
  const bench = createBench(createStore, options)
  const failure = await errorOf(withDeadline(run(bench), deadlineMs, bench.calls))
  // A store that cannot be closed fails the cases of close: here it only must not hang.
  const hung = await errorOf(withDeadline(bench.clear(), deadlineMs, bench.calls))
  const error = failure ?? hung
  if (error !== undefined) throw new Error(`${name}: ${error.message}\nThe rule: ${rule}`, { cause: error })
}

async function errorOf(work: Promise<void>): Promise<Error | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
