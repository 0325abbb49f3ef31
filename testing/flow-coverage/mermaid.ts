/**
 * Flows as a Mermaid flowchart (https://mermaid.js.org/syntax/flowchart.html), which GitHub and many editors draw:
 * each step with how often it was seen, each transition with how often it was taken. Calls are thick, and each flow
 * among the steps has a frame. Coverage and `turnkeeper/diagram` print it.
 */
import { count } from '../expectations/expectation-error.js'
import type { TransitionKind } from './coverage-counts.js'
import type { CoveredStepKind } from './flow-outline.js'

/** A step of a diagram. @inline */
export interface DiagramStep {
  /** Its own ID, after the IDs of the called flows around it: `Address/Street`. */
  readonly id: string
  /** `end` completes the session, or returns from a called flow. */
  readonly kind: CoveredStepKind
  /** The ID of the called flow that has it; absent for a step of the flow itself. */
  readonly flow?: string
  /** How often it was seen. Absent if the diagram was made without coverage and without sessions. */
  readonly seen?: number
}

/** A move from one step to another. @inline */
export interface DiagramTransition {
  /** The ID of the step that is left, or that calls. */
  readonly from: string
  /** The ID of the step that is entered. The flow may lack it, if `static next` is wrong. */
  readonly to: string
  /**
   * Whether the `static next` of `from` lists it. `null` if it need not: the step has none, or it is a call or a return.
   */
  readonly declared: boolean | null
  /** How often it was seen. Absent if the diagram was made without coverage and without sessions. */
  readonly seen?: number
  /** `call`: `from` waits for a return. `return`: `to` has waited for it. Absent for any other move. */
  readonly kind?: TransitionKind
}

/** The diagram of one flow. @inline */
export interface DiagramOfFlow {
  /** The ID of the flow. */
  readonly flow: string
  /** In the order of `steps()`. */
  readonly steps: readonly DiagramStep[]
  /** In the order of the steps that they leave; of one step, the declared ones first. */
  readonly transitions: readonly DiagramTransition[]
}

/** One flowchart for all flows, each in its own frame. What was never seen is dashed, and a step red. */
export function mermaidOf({ flows }: { readonly flows: readonly DiagramOfFlow[] }): string {
  const lines = ['flowchart LR', ...flows.flatMap((flow, index) => flowLines(flow, `flow${index + 1}`))]
  const isCounted = flows.some(({ steps }) => steps.some(({ seen }) => seen !== undefined))
  return [...lines, ...(isCounted ? ['  classDef missed stroke:#c0392b,stroke-dasharray:4'] : [])].join('\n')
}

function flowLines({ flow, steps, transitions }: DiagramOfFlow, name: string): string[] {
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

function shapeOf({ id, kind, seen }: DiagramStep): string {
  const times = seen === undefined ? '' : `<br>${seen === 0 ? 'never' : count(seen, 'time')}`
  const label = `"${escaped(id)}${times}"`
  return kind === 'end' ? `([${label}])` : kind === 'logic' ? `[${label}]` : `(${label})`
}

function edgeOf({ from, to, seen, declared, kind }: DiagramTransition, nodes: ReadonlyMap<string, string>): string[] {
  const [start, end] = [nodes.get(from), nodes.get(to)]
  // A `static next` may name a step that the flow does not have: the report of coverage has that gap in words.
  if (start === undefined || end === undefined) return []
  if (seen === undefined) return [`    ${start} -.-> ${end}`]
  if (seen === 0) return [`    ${start} -.->|never| ${end}`]
  if (kind !== undefined) return [`    ${start} ${kind === 'call' ? '==>' : '-->'}|"${kind}, ${seen}"| ${end}`]
  return [`    ${start} -->|"${seen}${declared === false ? ', not declared' : ''}"| ${end}`]
}

/** The text of a label. Mermaid reads `#34;` as the character with that number. */
function escaped(text: string): string {
  return text.replace(/[^\w .,:/-]/gu, (character) => `#${character.codePointAt(0)};`)
}
