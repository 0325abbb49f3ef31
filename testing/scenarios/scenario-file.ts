/** A scenario file as a runner meets it: scenarios with a title, a line, and a function that runs them. */
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { show } from '../expectations/expectation-error.js'
import { readDocument } from './read-scenarios.js'
import { runScenario } from './run-scenario.js'
import type { ScenarioSetupSource } from './scenario-setup.js'

/** A scenario. */
export interface Scenario {
  readonly title: string
  /** The line of its heading, counted from 1. */
  readonly line: number
  /**
   * Runs it in a separate conversation.
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
 * @throws `ExpectationError` whose message and stack have the line that cannot be read, if it belongs to no scenario. A
 * line of a scenario fails that scenario alone, when it is run. `InvalidInputError` if `text` or `file` is not a
 * string.
 */
export function readScenarios(text: string, file: string): ScenarioFile {
  checkText('readScenarios', text, file)
  const { title, setup, setupPlace, scenarios } = readDocument(text, file)
  return {
    title,
    setup,
    setupLine: setupPlace.line,
    scenarios: scenarios.map((scenario) => ({
      title: scenario.title,
      line: scenario.line,
      run: (source) => runScenario(scenario, { file, setupPlace, scenarios }, source),
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

const suiteNames: OptionNames<ScenarioSuiteOptions> = {
  text: true,
  file: true,
  setup: true,
  describe: true,
  test: true,
}

/**
 * Defines a test for each scenario of a file, in any test runner.
 *
 * @throws What {@link readScenarios} throws. `InvalidInputError` for an option that is unknown, missing or wrong.
 */
export function scenarioSuite(options: ScenarioSuiteOptions): void {
  checkOptionNames('scenarioSuite', options, suiteNames)
  const { text, file, setup, describe, test } = options
  checkText('scenarioSuite', text, file)
  for (const [name, define] of Object.entries({ describe, test })) {
    if (typeof define === 'function') continue
    throw invalidInput(`scenarioSuite: ${name} must be the function ${name} of the test runner; got ${show(define)}.`)
  }
  const { title, scenarios } = readScenarios(text, file)
  describe(title, () => {
    for (const scenario of scenarios) test(scenario.title, () => scenario.run(setup))
  })
}

/** @throws `InvalidInputError` for a text or a path that is not a string, such as the bytes of the file. */
function checkText(caller: string, text: unknown, file: unknown): void {
  if (typeof text !== 'string') {
    const what = "the text of the file, as readFileSync(file, 'utf8') returns it"
    throw invalidInput(`${caller}: text must be ${what}; got ${show(text, 100)}.`)
  }
  if (typeof file !== 'string') {
    throw invalidInput(`${caller}: file must be the path of the file, as a string; got ${show(file, 100)}.`)
  }
}
