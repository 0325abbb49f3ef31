/** Which steps, tools and transitions of a flow the conversations of a suite reached. */
export type {
  CoverageGap,
  CoveredStep,
  CoveredTool,
  CoveredTransition,
  FlowCoverageOfFlow,
  FlowCoverageReport,
} from './coverage-report.js'
export type { ExpectFullOptions, FlowCoverage, FlowCoverageOptions } from './flow-coverage.js'
export { coverageOf } from './flow-coverage.js'
export type { CoveredStepKind } from './flow-outline.js'
