/**
 * Coverage as a Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html), which GitHub and many editors draw:
 * each step with how often it was seen, each transition with how often it was taken. Calls are thick, and each flow
 * among the steps has a frame.
 */
import { count } from '../expectations/expectation-error.js'
import type { CoveredStep, CoveredTransition, FlowCoverageOfFlow, FlowCoverageReport } from './coverage-report.js'

/** One flowchart for all flows, each in its own frame. Unreached parts are dashed and red. */
export function mermaidOf({ flows }: FlowCoverageReport): string {
  const lines = ['flowchart LR', ...flows.flatMap((flow, index) => flowLines(flow, `flow${index + 1}`))]
  return [...lines, '  classDef missed stroke:#c0392b,stroke-dasharray:4'].join('\n')
}

function flowLines({ flow, steps, transitions }: FlowCoverageOfFlow, name: string): string[] {
  const nodes = new Map(steps.map(({ id }, index) => [id, `${name}_step${index + 1}`]))
  const missed = steps.filter(({ seen }) => seen === 0).map(({ id }) => nodes.get(id))
  const nodesOf = (flowId: string | undefined, indent: string): string[] =>
    steps.filter((step) => step.flow === flowId).map((step) => `${indent}${nodes.get(step.id)}${shapeOf(step)}`)
  const inner = [...new Set(steps.flatMap((step) => step.flow ?? []))]
  return [
    `  subgraph ${name}["${escaped(flow)}"]`,
    ...nodesOf(undefined, '    '),
    ...inner.flatMap((flowId, index) => [
      `    subgraph ${name}_flow${index + 1}["${escaped(flowId)}"]`,
      ...nodesOf(flowId, '      '),
      '    end',
    ]),
    ...transitions.flatMap((transition) => edgeOf(transition, nodes)),
    '  end',
    ...(missed.length === 0 ? [] : [`  class ${missed.join(',')} missed`]),
  ]
}

function shapeOf({ id, kind, seen }: CoveredStep): string {
  const label = `"${escaped(id)}<br>${seen === 0 ? 'never' : count(seen, 'time')}"`
  return kind === 'end' ? `([${label}])` : kind === 'logic' ? `[${label}]` : `(${label})`
}

function edgeOf({ from, to, seen, declared, kind }: CoveredTransition, nodes: ReadonlyMap<string, string>): string[] {
  const [start, end] = [nodes.get(from), nodes.get(to)]
  // A `static next` may name a step that the flow does not have: the report has that gap in words.
  if (start === undefined || end === undefined) return []
  if (seen === 0) return [`    ${start} -.->|never| ${end}`]
  if (kind !== undefined) return [`    ${start} ${kind === 'call' ? '==>' : '-->'}|"${kind}, ${seen}"| ${end}`]
  return [`    ${start} -->|"${seen}${declared === false ? ', not declared' : ''}"| ${end}`]
}

/** The text of a label. Mermaid reads `#34;` as the character with that number. */
function escaped(text: string): string {
  return text.replace(/[^\w .,:/-]/gu, (character) => `#${character.codePointAt(0)};`)
}
