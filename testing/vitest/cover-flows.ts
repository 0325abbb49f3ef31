/** The coverage of flows in one test file, on its way to the reporter of `testing/vitest/reporter.ts`. */
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest'
import { ConfigManager, type FlowConstructor, type FlowEngine } from '../../src/index.js'
import { coverageOf, type FlowCoverage, type FlowCoverageOptions, type FlowCoverageReport } from '../index.js'

declare module 'vitest' {
  interface TaskMeta {
    /** What the conversations of a test file reached of the flows that it covers with `coverFlows`. */
    flowCoverage?: FlowCoverageReport[]
  }
  interface ProvidedContext {
    /** Set by the reporter, so that `coverFlows` notices if none listens. */
    turnkeeperCoverageReporter?: true
  }
}

/**
 * Counts what the conversations of a test file reach of these flows, as `coverageOf` does, and passes the report to the
 * reporter `turnkeeper/testing/vitest/reporter` when the tests of the file have ended. Call it at the top of the file.
 *
 * If no such reporter runs, because `--reporter` on the command line takes the place of the configured ones, its
 * thresholds are not checked: that is a warning, and fails the file if the environment variable `CI` is set.
 *
 * @throws Any error of `coverageOf`; an `Error` if it is called inside a test, because its counts would be lost there.
 * If it is called in a hook, the first conversation that uses it fails.
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
  requireTopOfFile(coverage)
  // vitest reads the first parameter for the names of fixtures; none are needed here.
  // biome-ignore lint/correctness/noEmptyPattern: vitest refuses a parameter that is not destructured.
  afterAll(({}, suite) => {
    if (suite === undefined) throw new Error('coverFlows needs vitest 4 or newer: an older one does not name the file.')
    requireReporter()
    suite.file.meta.flowCoverage = [...(suite.file.meta.flowCoverage ?? []), coverage.passedReport()]
  })
  return coverage
}

/** vitest never runs a hook that is added in another hook: the counts would be lost. */
function requireTopOfFile(coverage: FlowCoverage): void {
  let isAtTop = false
  beforeAll(() => {
    isAtTop = true
  })
  const watch = coverage.watch.bind(coverage)
  Object.assign(coverage, {
    watch(engine: FlowEngine) {
      if (isAtTop) return watch(engine)
      throw new Error('coverFlows was called in a hook, such as beforeAll. Call it at the top of the file.')
    },
  })
}

/** Notices that nothing listens to what was counted. */
function requireReporter(): void {
  if (inject('turnkeeperCoverageReporter') === true) return
  const problem =
    'coverFlows: no reporter of the coverage of flows runs, so no threshold is checked. --reporter on the command line takes the place of those in the configuration: add --reporter=turnkeeper/testing/vitest/reporter, or leave it out.'
  const isCi = !['', 'false'].includes(new ConfigManager().get('CI') ?? '')
  if (isCi) throw new Error(problem)
  console.warn(problem)
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
