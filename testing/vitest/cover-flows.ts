/** The coverage of flows in one test file, on its way to the reporter of `testing/vitest/reporter.ts`. */
import { afterAll, onTestFinished } from 'vitest'
import type { FlowConstructor } from '../../src/index.js'
import { coverageOf, type FlowCoverage, type FlowCoverageOptions, type FlowCoverageReport } from '../index.js'

declare module 'vitest' {
  interface TaskMeta {
    /** What the conversations of a test file reached of the flows that it covers with `coverFlows`. */
    flowCoverage?: FlowCoverageReport[]
  }
}

/**
 * Counts what the conversations of a test file reach of these flows, as `coverageOf` does, and passes the report to the
 * reporter `turnkeeper/testing/vitest/reporter` when the tests of the file have ended. Call it at the top of the file.
 *
 * @throws Any error of `coverageOf`; an `Error` if it is called inside a test, because its counts would be lost there.
 * @example
 * ```ts
 * const coverage = coverFlows(Onboarding)
 * test('asks for the name', async () => {
 *   await using conversation = new Conversation(Onboarding, { coverage, script })
 * })
 * ```
 */
export function coverFlows(
  flows: FlowConstructor | readonly FlowConstructor[],
  options: FlowCoverageOptions = {},
): FlowCoverage {
  if (isTestRunning()) {
    throw new Error(
      'coverFlows was called inside a test. Call it at the top of the file: what it counts belongs to all tests.',
    )
  }
  const coverage = coverageOf(flows, options)
  // vitest reads the first parameter for the names of fixtures; none are needed here.
  // biome-ignore lint/correctness/noEmptyPattern: vitest refuses a parameter that is not destructured.
  afterAll(({}, suite) => {
    if (suite === undefined) throw new Error('coverFlows needs vitest 4 or newer: an older one does not name the file.')
    suite.file.meta.flowCoverage = [...(suite.file.meta.flowCoverage ?? []), coverage.passedReport()]
  })
  return coverage
}

/** Whether a test is running: only then vitest takes what is to be done after it. */
function isTestRunning(): boolean {
  try {
    onTestFinished(() => undefined)
    return true
  } catch {
    return false
  }
}
