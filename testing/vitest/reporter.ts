/**
 * The entry point `turnkeeper/testing/vitest/reporter`: a reporter of vitest that adds up the coverage of flows of all
 * test files, prints it, and fails the run below a threshold. The test files use `coverFlows` of
 * `turnkeeper/testing/vitest`.
 *
 * @module turnkeeper/testing/vitest/reporter
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { show } from '../expectations/expectation-error.js'
import { isListOf, isText } from '../expectations/value-kinds.js'
import { belowThresholds, type CoverageThresholds, checkThresholds } from '../flow-coverage/coverage-shares.js'
import { gapsOf, tableOf } from '../flow-coverage/coverage-text.js'
import { lastReports, mergeReports, type PassedReport } from '../flow-coverage/merge-reports.js'
import { mermaidOf } from '../flow-coverage/mermaid.js'

export type { CoverageThresholds }

/** The options of {@link FlowCoverageReporter}. */
export interface FlowCoverageReporterOptions {
  /** The least that all test files together must reach of each flow. Default: nothing. */
  readonly thresholds?: CoverageThresholds
  /** The IDs of flows that test files must cover: the run fails if one is missing. Default: none. */
  readonly flows?: readonly string[]
  /**
   * A file in which the coverage is drawn as a Mermaid flowchart, relative to the working directory. Its folder is
   * made. Default: none.
   */
  readonly mermaid?: string
  /** A file for the whole report as JSON, relative to the working directory. Its folder is made. Default: none. */
  readonly json?: string
}

const optionNames: OptionNames<FlowCoverageReporterOptions> = {
  thresholds: true,
  flows: true,
  mermaid: true,
  json: true,
}

/**
 * Adds up what the conversations of all test files reached, prints a table, and fails the run where a flow is below a
 * threshold. Flows with the same ID in several files are one flow.
 *
 * @throws `InvalidInputError` from the constructor, for an unknown option, for a threshold that is not a percentage,
 * for flows that are not a list of texts, and for a path that is not a text.
 * @example
 * ```ts
 * // vitest.config.ts
 * import { defineConfig } from 'vitest/config'
 *
 * const thresholds = { steps: 90, transitions: 80, tools: 100 }
 * export default defineConfig({
 *   test: { reporters: ['default', ['turnkeeper/testing/vitest/reporter', { thresholds }]] },
 * })
 * ```
 */
export default class FlowCoverageReporter implements Reporter {
  readonly #options: FlowCoverageReporterOptions

  constructor(options: FlowCoverageReporterOptions = {}) {
    checkOptionNames('FlowCoverageReporter', options, optionNames)
    if (options.thresholds !== undefined) checkThresholds(options.thresholds)
    if (options.flows !== undefined && !isListOf(options.flows, isText)) {
      throw invalidInput(
        `FlowCoverageReporter: flows must be a list of the IDs of flows; got ${show(options.flows, 100)}.`,
      )
    }
    for (const name of ['mermaid', 'json'] as const) checkPath(name, options[name])
    this.#options = options
  }

  /** vitest calls it before all test files. */
  onInit(vitest: Vitest): void {
    vitest.getRootProject().provide('turnkeeperCoverageReporter', true)
  }

  /** vitest calls it after all test files, also after each run of watch mode. */
  async onTestRunEnd(testModules: readonly Pick<TestModule, 'meta'>[]): Promise<void> {
    const reports = testModules.flatMap((testModule) => {
      const { flowCoverage, scenarioCoverage } = testModule.meta() as unknown as Readonly<
        Partial<Record<'flowCoverage' | 'scenarioCoverage', readonly PassedReport[]>>
      >
      return [...(flowCoverage ?? []), ...(scenarioCoverage ?? [])]
    })
    const { thresholds = {}, flows = [], mermaid, json } = this.#options
    if (reports.length === 0) {
      console.log('\nNo test file covers a flow: call coverFlows of turnkeeper/testing/vitest in those that should.')
      // Thresholds that nothing was measured against are not met.
      if (Object.keys(thresholds).length + flows.length > 0) process.exitCode = 1
      return
    }
    const report = mergeReports(lastReports(reports))
    if (mermaid !== undefined) await writeReport(mermaid, `\`\`\`mermaid\n${mermaidOf(report)}\n\`\`\`\n`)
    if (json !== undefined) await writeReport(json, `${JSON.stringify(report, null, 2)}\n`)
    const gaps = gapsOf(report)
    console.log(`\nCoverage of flows\n\n${[tableOf(report), ...(gaps === '' ? [] : [gaps])].join('\n\n')}\n`)
    const missing = flows.filter((id) => !report.flows.some(({ flow }) => flow === id))
    const problems = [...missing.map((id) => `${id}: no test file covers it`), ...belowThresholds(report, thresholds)]
    if (problems.length === 0) return
    console.error(`Below the thresholds:\n\n- ${problems.join('\n- ')}\n`)
    process.exitCode = 1
  }
}

function checkPath(name: string, path: unknown): void {
  if (path === undefined || (typeof path === 'string' && path !== '')) return
  throw invalidInput(
    `FlowCoverageReporter: ${name} must be the path of a file, such as 'flows.${name === 'json' ? 'json' : 'md'}'; got ${show(path, 100)}.`,
  )
}

/** Writes a file. If that fails, the run fails, and the table is still printed. */
async function writeReport(path: string, text: string): Promise<void> {
  const file = resolve(path)
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  } catch (error) {
    console.error(`\nThe coverage of flows cannot be written to ${file}: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
