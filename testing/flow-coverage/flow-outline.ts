/**
 * The outline of a flow, without a conversation: its steps, their tools, and where each may lead. It makes new objects
 * of the flow's classes and runs no step; facts known only in a turn are reported as unknown.
 */
import {
  type BaseStep,
  End,
  EndStep,
  Flow,
  type FlowConstructor,
  LogicStep,
  type StepConstructor,
  type Tool,
  type Turn,
} from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { isListOf, isStepClass, shownStep } from '../expectations/value-kinds.js'

/** The kind of a step. `end` completes the session. @inline */
export type CoveredStepKind = 'model' | 'logic' | 'end'

/** A step, as its class declares it. */
export interface OutlinedStep {
  readonly id: string
  readonly kind: CoveredStepKind
  /** The IDs in `static next`; absent if the class has none. */
  readonly next?: readonly string[]
}

/** A tool, as `tools()` returns it. */
export interface OutlinedTool {
  /** The step that offers it; absent for a tool of the flow, which every model step offers. */
  readonly step?: string
  readonly name: string
}

/** An outside event, as `events()` returns it. */
export interface OutlinedEvent {
  /** The step that takes it; absent for an event of the flow. */
  readonly step?: string
  readonly name: string
}

/** The outline of a flow. */
export interface FlowOutline {
  readonly flow: string
  readonly steps: readonly OutlinedStep[]
  readonly tools: readonly OutlinedTool[]
  readonly events: readonly OutlinedEvent[]
  /** The IDs of those whose tools depend on the turn: steps, or the flow itself. */
  readonly toolsNotKnown: readonly string[]
}

/**
 * The outline of a flow.
 *
 * @param toolsGiven - Names of tools by step ID, or by the flow's ID for its own: in place of calling `tools()`.
 * @throws `InvalidInputError` if `steps()` does not return a list of steps. What the constructors throw.
 */
export function outlineOf(
  flowClass: FlowConstructor,
  toolsGiven: Readonly<Record<string, readonly string[]>>,
): FlowOutline {
  const flow = new flowClass()
  const classes = flow.steps()
  if (!isListOf(classes, isStepClass)) {
    throw invalidInput(
      `coverageOf: steps() of flow '${flowClass.id}' must return a list of classes of steps; got ${shownList(classes)}.`,
    )
  }
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
  const events = [...eventNames(flow).map((name) => ({ name })), ...classes.flatMap(eventsOf)]
  return { flow: flowClass.id, steps, tools, events, toolsNotKnown }
}

/** The events of a step in its initial state. Others are counted if they are taken. */
function eventsOf(stepClass: StepConstructor): OutlinedEvent[] {
  const step = new stepClass()
  LogicStep.attach(step, { readState: () => step.initialState(), writeState: () => undefined }, stepClass.id)
  return eventNames(step).map((name) => ({ step: stepClass.id, name }))
}

function eventNames(owner: Flow | BaseStep): string[] {
  try {
    return owner.events().map(({ name }) => name)
  } catch {
    return []
  }
}

/** What is not a list of steps; of a list each entry, because one of them may be `undefined`. */
function shownList(steps: unknown): string {
  return Array.isArray(steps) ? `[${steps.map(shownStep).join(', ')}]` : shownStep(steps)
}

function outlineStep(stepClass: StepConstructor): OutlinedStep {
  const { id, next, prototype } = stepClass as StepConstructor & { readonly prototype: unknown }
  const kind = prototype instanceof EndStep ? 'end' : prototype instanceof LogicStep ? 'logic' : 'model'
  if (next === undefined) return { id, kind }
  return { id, kind, next: next.map((target) => (typeof target === 'string' ? target : target.id)) }
}

/** Stands in place of a turn. Code that reads it depends on the turn. */
const noTurn: Turn = new Proxy({} as Turn, {
  get(_turn, key) {
    throw new Error(`There is no turn here: '${String(key)}' is not known.`)
  },
})

/** The names of the tools, if they are the same in every turn; `undefined` if `ask` needs a turn. */
function toolNames(ask: () => unknown): string[] | undefined {
  try {
    const offered = ask()
    if (Array.isArray(offered)) return offered.map(({ name }: Tool) => name)
    // Asynchronous tools depend on something else. Their rejection must not become an unhandled one.
    if (offered instanceof Promise) offered.catch(() => undefined)
    return undefined
  } catch {
    return undefined
  }
}
