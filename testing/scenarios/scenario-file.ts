/** A scenario file as a runner meets it: scenarios with a title, a line, and a function that runs them. */
import { readDocument } from './read-scenarios.js'
import { runScenario } from './run-scenario.js'
import type { ScenarioSetupSource } from './scenario-setup.js'

/** A scenario. */
export interface Scenario {
  readonly title: string
  /** The line of its heading, counted from 1. */
  readonly line: number
  /**
   * Runs it in a conversation of its own.
   *
   * @param setup - What the set-up module exports as `default`.
   * @throws `ExpectationError` (rejects) whose message and stack have the line that failed, or all that cannot be read.
   */
  run(setup: ScenarioSetupSource): Promise<void>
}

/** A file of scenarios. */
export interface ScenarioFile {
  /** The first heading; the path of the file if it has none. */
  readonly title: string
  /** The module that sets the scenarios up, as the file names it: relative to the file. */
  readonly setup: string
  /** The number of the line that names it, counted from 1. */
  readonly setupLine: number
  readonly scenarios: readonly Scenario[]
}

/**
 * Reads the text of a `*.scenario.md`.
 *
 * @param file - The path of the file, for failures.
 * @throws `ExpectationError` whose message and stack have the line that cannot be read, if it belongs to no scenario. A line of
 * a scenario fails that scenario alone, when it is run.
 */
export function readScenarios(text: string, file: string): ScenarioFile {
  const { title, setup, setupPlace, scenarios } = readDocument(text, file)
  return {
    title,
    setup,
    setupLine: setupPlace.line,
    scenarios: scenarios.map((scenario) => ({
      title: scenario.title,
      line: scenario.line,
      run: (source) => runScenario(scenario, { file, setupPlace }, source),
    })),
  }
}

/** What {@link scenarioSuite} takes. */
export interface ScenarioSuiteOptions {
  /** The text of the file. */
  readonly text: string
  /** Its path, for failures. */
  readonly file: string
  /** What the set-up module exports as `default`. */
  readonly setup: ScenarioSetupSource
  /** `describe` of the test runner. */
  readonly describe: (name: string, define: () => void) => unknown
  /** `test` of the test runner. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
}

/**
 * Defines a test for each scenario of a file, in any test runner.
 *
 * @throws What {@link readScenarios} throws.
 */
export function scenarioSuite({ text, file, setup, describe, test }: ScenarioSuiteOptions): void {
  const { title, scenarios } = readScenarios(text, file)
  describe(title, () => {
    for (const scenario of scenarios) test(scenario.title, () => scenario.run(setup))
  })
}
