/**
 * The outline of a flow, without a conversation: its steps, their tools, and where each may lead. It makes new objects
 * of the flow's classes and runs no step; facts known only in a turn are reported as unknown.
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
import {
  declaredEvents,
  flowsOf,
  idFrom,
  type ListedFlow,
  type ListedStep,
  listedSteps,
  stepWithState,
} from '../flow-steps/flow-steps.js'
import { formOf, isForm, turnWith } from '../flow-steps/form-steps.js'

/** The kind of a step. `end` completes the session. @inline */
export type CoveredStepKind = 'model' | 'logic' | 'end'

/** A step, as its class declares it. */
export interface OutlinedStep {
  readonly id: string
  readonly kind: CoveredStepKind
  /** The ID of the flow among the steps that has it; absent for a step of the flow itself. */
  readonly flow?: string
  /** The IDs in `static next`; absent if the class has none. */
  readonly next?: readonly string[]
}

/** A tool, as `tools()` returns it. */
export interface OutlinedTool {
  /** The step or the flow among the steps that offers it; absent for a tool of the flow: every model step offers it. */
  readonly step?: string
  readonly name: string
}

/** An outside event, as `events()` returns it. */
export interface OutlinedEvent {
  /** The step that takes it, or the flow among the steps; absent for an event of the flow. */
  readonly step?: string
  readonly name: string
}

/** A field, as `fields()` of a form returns it; or the event of a form. */
export interface OutlinedField {
  /** The step that is the form. */
  readonly step: string
  readonly name: string
}

/** The outline of a flow. */
export interface FlowOutline {
  readonly flow: string
  readonly steps: readonly OutlinedStep[]
  readonly tools: readonly OutlinedTool[]
  readonly events: readonly OutlinedEvent[]
  /** The forms, each with the name of the event with which a page sends it, which no conversation needs to send. */
  readonly forms: readonly OutlinedField[]
  /** The fields of forms whose `fields()` needs only the time of a turn. */
  readonly fields: readonly OutlinedField[]
  /** The IDs of those whose tools depend on the turn: steps, or flows. */
  readonly toolsNotKnown: readonly string[]
}

/**
 * The outline of a flow.
 *
 * @param toolsGiven - Names of tools by the ID of a step, of the flow, or of a flow among its steps: in place of calling
 * `tools()`.
 * @throws `InvalidInputError` if `steps()` does not return a list of steps. What the constructors throw.
 */
export function outlineOf(
  flowClass: FlowConstructor,
  toolsGiven: Readonly<Record<string, readonly string[]>>,
): FlowOutline {
  const listed = listedSteps('coverageOf', flowClass)
  const flows = flowsOf(listed)
  const tools: OutlinedTool[] = []
  const toolsNotKnown: string[] = []
  const note = (owner: string, step: string | undefined, ask: () => unknown): void => {
    const names = Object.hasOwn(toolsGiven, owner) ? toolsGiven[owner] : toolNames(ask)
    if (names === undefined) toolsNotKnown.push(owner)
    for (const name of names ?? []) tools.push(step === undefined ? { name } : { step, name })
  }
  for (const { id, flow } of flows) {
    if (flow.tools !== Flow.prototype.tools) note(id || flowClass.id, id || undefined, () => flow.tools(noTurn))
  }
  for (const { id, stepClass } of listed) {
    if (kindOf(stepClass) !== 'model') continue
    const step = new stepClass() as unknown as { tools(turn: Turn): unknown }
    note(id, id, () => step.tools(noTurn))
  }
  const events = [
    ...flows.flatMap(({ id, flow }) =>
      declaredEvents(flow).map(({ name }) => (id === '' ? { name } : { step: id, name })),
    ),
    ...listed.flatMap(eventsOf),
  ]
  const forms = listed.filter(({ stepClass }) => isForm(stepClass))
  return {
    flow: flowClass.id,
    steps: outlinedSteps(listed),
    tools,
    events,
    forms: forms.map(({ id: step, stepClass }) => ({ step, name: stepClass.id })),
    fields: forms.flatMap(fieldsOf),
    toolsNotKnown,
  }
}

/** The steps in the order of `steps()`, each flow with its end step. */
export function outlinedSteps(listed: readonly ListedStep[]): readonly OutlinedStep[] {
  const flows = flowsOf(listed)
  const places = new Map(listed.map(({ id }, index) => [id, index]))
  const placeOf = ({ id }: OutlinedStep): number => places.get(id) ?? listed.length
  return flows.flatMap((flow) => outlineSteps(flow, listed, flows)).sort((one, other) => placeOf(one) - placeOf(other))
}

/** The fields of a form in its initial state. Others are counted if they are answered. */
function fieldsOf(form: ListedStep): OutlinedField[] {
  return formOf(form, { now: 0 }).fields.map(({ name }) => ({ step: form.id, name }))
}

/** The events of a step in its initial state, without the submission of a form. Others are counted if they are taken. */
function eventsOf(listed: ListedStep): OutlinedEvent[] {
  const { id, stepClass } = listed
  const declared = declaredEvents(stepWithState(listed)).map(({ name }) => ({ step: id, name }))
  return declared.filter(({ name }) => !(isForm(stepClass) && name === stepClass.id))
}

/** The steps that a flow lists, with its end step. */
function outlineSteps(
  of: ListedFlow,
  listed: readonly ListedStep[],
  flows: readonly ListedFlow[],
): readonly OutlinedStep[] {
  const around = of.id === '' ? {} : { flow: of.id }
  const end = of.id === '' ? End.id : `${of.id}/${End.id}`
  const steps = listed
    .filter((step) => step.of === of)
    .map(({ id, stepClass }): OutlinedStep => {
      const { next } = stepClass
      const step = { id, kind: kindOf(stepClass), ...around }
      return next === undefined ? step : { ...step, next: next.map((target) => targetOf(of, target, listed, flows)) }
    })
  return steps.some(({ kind }) => kind === 'end') ? steps : [...steps, { id: end, kind: 'end', ...around }]
}

function kindOf({ prototype }: StepConstructor & { readonly prototype?: unknown }): CoveredStepKind {
  return prototype instanceof EndStep ? 'end' : prototype instanceof LogicStep ? 'logic' : 'model'
}

/** The ID of a step in `static next`. For a flow it is the ID of the flow's first step. */
function targetOf(
  of: ListedFlow,
  target: { readonly id: string } | string,
  listed: readonly ListedStep[],
  flows: readonly ListedFlow[],
): string {
  const ends = flows.map(({ id }) => (id === '' ? End.id : `${id}/${End.id}`))
  const id = idFrom(of, target, new Set([...listed.map((step) => step.id), ...flows.map((flow) => flow.id), ...ends]))
  return flows.find((flow) => flow.id === id)?.first ?? id
}

/** Code that reads it depends on the turn. */
const noTurn: Turn = turnWith({})

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
