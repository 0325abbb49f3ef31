/**
 * What a flow says of itself, without a conversation: its steps, their tools, and where each may lead. It asks new
 * objects of the flow's classes and runs no step; what can only be known in a turn is told as not known.
 */
import {
  End,
  EndStep,
  Flow,
  type FlowConstructor,
  LogicStep,
  type StepConstructor,
  type Tool,
  type Turn,
} from '../../src/index.js'

/** What runs a step. `end` is one that finishes the session. */
export type CoveredStepKind = 'model' | 'logic' | 'end'

/** A step, as its class tells. */
export interface OutlinedStep {
  readonly id: string
  readonly kind: CoveredStepKind
  /** The IDs in `static next`; absent where the class has none. */
  readonly next?: readonly string[]
}

/** A tool, as `tools()` tells. */
export interface OutlinedTool {
  /** The step that offers it; absent for a tool of the flow, which every model step offers. */
  readonly step?: string
  readonly name: string
}

/** Everything that a flow says of itself. */
export interface FlowOutline {
  readonly flow: string
  readonly steps: readonly OutlinedStep[]
  readonly tools: readonly OutlinedTool[]
  /** Whose tools only a turn can tell: step IDs, or the flow's own. */
  readonly toolsNotKnown: readonly string[]
}

/**
 * The outline of a flow.
 *
 * @param toolsGiven - Names of tools by step ID, or by the flow's for its own: in place of asking for them.
 */
export function outlineOf(
  flowClass: FlowConstructor,
  toolsGiven: Readonly<Record<string, readonly string[]>>,
): FlowOutline {
  const flow = new flowClass()
  const classes = flow.steps()
  const steps = classes.map((stepClass) => outlineStep(stepClass))
  if (!steps.some(({ kind }) => kind === 'end')) steps.push({ id: End.id, kind: 'end' })
  const tools: OutlinedTool[] = []
  const toolsNotKnown: string[] = []
  const note = (owner: string, step: string | undefined, ask: () => unknown): void => {
    const names = Object.hasOwn(toolsGiven, owner) ? toolsGiven[owner] : toolNames(ask)
    if (names === undefined) toolsNotKnown.push(owner)
    for (const name of names ?? []) tools.push(step === undefined ? { name } : { step, name })
  }
  if (flow.tools !== Flow.prototype.tools) note(flowClass.id, undefined, () => flow.tools(noTurn))
  for (const [index, { id, kind }] of steps.entries()) {
    const stepClass = classes[index]
    if (kind !== 'model' || stepClass === undefined) continue
    const step = new stepClass() as unknown as { tools(turn: Turn): unknown }
    note(id, id, () => step.tools(noTurn))
  }
  return { flow: flowClass.id, steps, tools, toolsNotKnown }
}

function outlineStep(stepClass: StepConstructor): OutlinedStep {
  const { id, next, prototype } = stepClass as StepConstructor & { readonly prototype: unknown }
  const kind = prototype instanceof EndStep ? 'end' : prototype instanceof LogicStep ? 'logic' : 'model'
  if (next === undefined) return { id, kind }
  return { id, kind, next: next.map((target) => (typeof target === 'string' ? target : target.id)) }
}

/** Stands where a turn would be. Whoever looks at it depends on the turn. */
const noTurn: Turn = new Proxy({} as Turn, {
  get(_turn, key) {
    throw new Error(`There is no turn here: '${String(key)}' is not known.`)
  },
})

/** The names of the tools, where they are the same in every turn: `undefined` where `ask` needs one. */
function toolNames(ask: () => unknown): string[] | undefined {
  try {
    const offered = ask()
    if (Array.isArray(offered)) return offered.map(({ name }: Tool) => name)
    // What is waited for comes from somewhere: nobody listens to what becomes of it.
    if (offered instanceof Promise) offered.catch(() => undefined)
    return undefined
  } catch {
    return undefined
  }
}
