/**
 * The entry point `turnkeeper/testing/scenarios`: conversations that are written as text, in `*.scenario.md` files, as
 * tests.
 *
 * @module turnkeeper/testing/scenarios
 */
export type { Scenario, ScenarioFile, ScenarioSuiteOptions } from './scenario-file.js'
export { readScenarios, scenarioSuite } from './scenario-file.js'
export type { ScenarioSetup, ScenarioSetupSource } from './scenario-setup.js'
