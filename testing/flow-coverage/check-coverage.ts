/**
 * Checks the arguments of the flow coverage, which JavaScript code may get wrong. Wrong ones are refused before
 * anything is counted.
 */
import { invalidInput } from '../../src/util/options.js'
import { show } from '../expectations/expectation-error.js'
import { isListOf, isObject, isText } from '../expectations/value-kinds.js'
import type { FlowCoverageOfFlow, FlowCoverageReport } from './coverage-report.js'

/** @throws `InvalidInputError` if the tool names are not lists, by the ID of a flow or a step. */
export function checkToolNames(tools: unknown): void {
  if (tools === undefined || (isObject(tools) && Object.values(tools).every((names) => isListOf(names, isText)))) return
  throw invalidInput(
    `coverageOf: tools must have a list of names for each step, as in { AskName: ['capture_name'] }; got ${show(tools)}.`,
  )
}

/** @throws `InvalidInputError` if the value is not a report: for example the coverage itself. */
export function checkReport(report: unknown): asserts report is FlowCoverageReport {
  if (isReport(report)) return
  const { report: method } = (report ?? {}) as { readonly report?: unknown }
  const got = typeof method === 'function' ? 'a coverage: pass its report()' : show(report, 100)
  throw invalidInput(`coverage.add: the report must be what report() of another coverage returned; got ${got}.`)
}

/** Whether a value is what `report()` returns. */
export function isReport(value: unknown): value is FlowCoverageReport {
  return isListOf((value as Partial<FlowCoverageReport> | null | undefined)?.flows, isCoveredFlow)
}

function isCoveredFlow(value: unknown): value is FlowCoverageOfFlow {
  if (!isObject(value)) return false
  const { flow, turns, steps, tools, transitions } = value as Partial<Record<keyof FlowCoverageOfFlow, unknown>>
  const lists = [steps, tools, transitions]
  return isText(flow) && typeof turns === 'number' && lists.every((entries) => isListOf(entries, isObject))
}
