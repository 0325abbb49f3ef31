/** Which steps, tools and transitions of a flow the conversations of a suite reached. */
export type { FlowCoverageReport } from './coverage-report.js'
export type { FlowCoverage, FlowCoverageOptions } from './flow-coverage.js'
export { coverageOf } from './flow-coverage.js'
export { pathsOf, type StepPath } from './step-paths.js'
