/** Coverage for people: every gap in words, and one line a flow. */
import { count, list } from '../expectations/expectation-error.js'
import type { FlowCoverageOfFlow, FlowCoverageReport } from './coverage-report.js'
import { measures, percentOf, sharesOf } from './coverage-shares.js'

/** A report in words, with its gaps. */
export function textOf({ flows }: FlowCoverageReport): string {
  return flows.map(flowText).join('\n\n')
}

/** The gaps of all flows, a line for each; empty if there are none. */
export function gapsOf({ flows }: FlowCoverageReport): string {
  return flows.flatMap(({ flow, gaps }) => gaps.map(({ text }) => `- ${flow}: ${text}`)).join('\n')
}

/** A report as a table: a line for each flow, with what it has reached of each kind, in numbers and in percent. */
export function tableOf({ flows }: FlowCoverageReport): string {
  const head = ['flow', 'turns', ...measures, 'gaps']
  const rows = flows.map((flow) => {
    const shares = sharesOf(flow)
    const cells = measures.map((measure) => {
      const { reached, all } = shares[measure]
      return all === 0 ? 'none' : `${reached} of ${all}, ${percentOf(shares[measure])} %`
    })
    return [flow.flow, String(flow.turns), ...cells, String(flow.gaps.length)]
  })
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function flowText({
  flow,
  turns,
  steps,
  tools,
  events = [],
  fields = [],
  transitions,
  gaps,
}: FlowCoverageOfFlow): string {
  const ends = steps.filter(({ kind }) => kind === 'end')
  const others = steps.filter(({ kind }) => kind !== 'end')
  const declared = transitions.filter((transition) => transition.declared === true)
  const lines = [
    `${flow}, ${count(turns, 'turn')}`,
    row('steps', others.filter(({ seen }) => seen > 0).length, others.length),
    row('end steps', ends.filter(({ seen }) => seen > 0).length, ends.length),
    row('tools', tools.filter(({ succeeded }) => succeeded > 0).length, tools.length),
    ...(events.length === 0 ? [] : [row('events', events.filter(({ taken }) => taken > 0).length, events.length)]),
    ...(fields.length === 0
      ? []
      : [row('fields', fields.filter(({ answered }) => answered > 0).length, fields.length)]),
    row('transitions', declared.filter(({ seen }) => seen > 0).length, declared.length),
  ]
  const titles = [
    [undefined, 'seen from steps without next'],
    ['call', 'calls'],
    ['return', 'returns'],
  ] as const
  for (const [kind, title] of titles) {
    const free = transitions.filter((one) => one.kind === kind && (kind !== undefined || one.declared === null))
    if (free.length > 0) lines.push(`  ${title}: ${list(free.map(({ from, to }) => `${from} -> ${to}`))}`)
  }
  lines.push(gaps.length === 0 ? '  nothing is missing' : '  missing:')
  lines.push(...gaps.map(({ text }) => `  - ${text}`))
  return lines.join('\n')
}

function row(what: string, reached: number, all: number): string {
  return `  ${what.padEnd(12)}${all === 0 ? 'none' : `${reached} of ${all}`}`
}
