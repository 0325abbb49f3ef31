/** The steps of a flow, and of the flows among its steps, by the IDs that sessions have for them. */
import {
  type BaseStep,
  End,
  Flow,
  type FlowConstructor,
  type FlowEvent,
  LogicStep,
  type SessionDocument,
  type StepConstructor,
} from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { isStepClass, shownStep } from '../expectations/value-kinds.js'

/** A flow, or a flow among the steps of another one. */
export interface ListedFlow {
  /** Its own ID after the IDs of the flows around it: `Order/Address`. Empty for the outermost flow. */
  readonly id: string
  readonly flow: Flow
  /** The flow that lists it. */
  readonly outer: ListedFlow | undefined
  /** The ID of the step in which it begins. */
  first: string
}

/** A step as a session names it. */
export interface ListedStep {
  /** Its own ID after the IDs of the flows around it: `Address/Street`. */
  readonly id: string
  /** Former IDs, and those with former names of the flows around it. */
  readonly aliases: readonly string[]
  readonly stepClass: StepConstructor
  /** The flow that lists it. */
  readonly of: ListedFlow
}

/**
 * The steps of a flow, in the order in which it lists them.
 *
 * @param caller - For error messages.
 * @throws `InvalidInputError` if `steps()` does not return a list of steps and flows, or a flow contains itself. What
 * the constructors of flows throw.
 */
export function listedSteps(caller: string, flowClass: FlowConstructor): readonly ListedStep[] {
  const outermost: ListedFlow = { id: '', flow: new flowClass(), outer: undefined, first: '' }
  return stepsOf(caller, flowClass, outermost, [''], [])
}

/** The flows that have these steps, the outermost one first. */
export function flowsOf(steps: readonly ListedStep[]): readonly ListedFlow[] {
  const flows = new Set<ListedFlow>()
  for (const step of steps) for (const one of flowsAround(step.of)) flows.add(one)
  return [...flows]
}

/** A flow, and the flows around it, the outermost one first. */
export function flowsAround(flow: ListedFlow): readonly ListedFlow[] {
  return flow.outer === undefined ? [flow] : [...flowsAround(flow.outer), flow]
}

/** A step with its state in a session, or its initial one. What it writes is not kept. */
export function stepWithState({ id, stepClass }: ListedStep, document?: SessionDocument): BaseStep {
  const { steps = {} } = document?.flow ?? {}
  const step = new stepClass()
  const state = Object.hasOwn(steps, id) ? (steps[id]?.state ?? {}) : step.initialState()
  LogicStep.attach(step, { readState: () => state, writeState: () => undefined }, id)
  return step
}

/** The events that a step or a flow declares; none if that needs a turn. */
export function declaredEvents(owner: Flow | BaseStep): readonly FlowEvent[] {
  try {
    return [...owner.events()]
  } catch {
    return []
  }
}

/**
 * The ID of a step or a flow that the code of a flow names: of the class that it names, or else the innermost one of that
 * name, as the engine looks it up.
 *
 * @param known - The IDs of all steps and flows.
 */
export function idFrom(flow: ListedFlow, named: { readonly id: string } | string, known: ReadonlySet<string>): string {
  const name = typeof named === 'string' ? named : named.id
  const around = flowsAround(flow).filter(({ id }) => known.has(idIn(id, name)))
  // Another flow may have another class of that name. Each flow has the class `End`.
  const found = around.findLast((one) => named === End || one.flow.steps().includes(named as StepConstructor))
  const innermost = found ?? around.at(-1)
  return innermost === undefined ? name : idIn(innermost.id, name)
}

/**
 * The step that a test names, by its class or its ID; `undefined` if the flow does not have it.
 *
 * @returns a problem as a text if the flow has the class more than once
 */
export function stepNamed(
  steps: readonly ListedStep[],
  named: { readonly id: string } | string,
): ListedStep | string | undefined {
  if (typeof named === 'string') return steps.find(({ id }) => id === named)
  const own = steps.filter(({ stepClass }) => (stepClass as unknown) === named)
  if (own.length < 2) return own[0] ?? steps.find(({ id }) => id === named.id)
  const ids = own.map(({ id }) => `'${id}'`)
  return `the flow has the step ${named.id} more than once, as ${ids.join(' and ')}: name one of them by its ID.`
}

/**
 * The ID of a step that a test names. Of a step that the flow does not have it is the step's own.
 *
 * @throws `InvalidInputError` if the flow has the class more than once.
 */
export function stepIdIn(caller: string, flowClass: FlowConstructor, named: { readonly id: string } | string): string {
  if (typeof named === 'string') return named
  const found = stepNamed(listedSteps(caller, flowClass), named)
  if (typeof found === 'string') throw invalidInput(`${caller}: ${found}`)
  return found?.id ?? named.id
}

function stepsOf(
  caller: string,
  flowClass: FlowConstructor,
  of: ListedFlow,
  prefixes: readonly string[],
  around: readonly FlowConstructor[],
): readonly ListedStep[] {
  const listed: unknown = of.flow.steps()
  if (!Array.isArray(listed) || !listed.every((one) => isStepClass(one) || isFlow(one))) {
    throw invalidInput(
      `${caller}: steps() of flow '${flowClass.id}' must return a list of classes of steps; got ${shownList(listed)}.`,
    )
  }
  if (around.includes(flowClass)) throw invalidInput(`${caller}: flow '${flowClass.id}' contains itself.`)
  const steps = listed.flatMap((one: StepConstructor | FlowConstructor): readonly ListedStep[] => {
    const names = prefixes.flatMap((prefix) => [one.id, ...one.aliases].map((name) => prefix + name))
    const [id = '', ...aliases] = names
    if (!isFlow(one)) return [{ id, aliases, stepClass: one, of }]
    const inner: ListedFlow = { id, flow: new one(), outer: of, first: '' }
    const inside = names.map((name) => `${name}/`)
    return stepsOf(caller, one, inner, inside, [...around, flowClass])
  })
  const initial = of.flow.initialStep()
  const own = steps.filter((step) => step.of === of)
  const first = own.find(({ id, stepClass }) => stepClass === initial || id === idIn(of.id, String(initial)))
  of.first = (first ?? own[0])?.id ?? ''
  return steps
}

function isFlow(listed: unknown): listed is FlowConstructor {
  return typeof listed === 'function' && listed.prototype instanceof Flow
}

function idIn(flow: string, name: string): string {
  return flow === '' ? name : `${flow}/${name}`
}

/** What is not a list of steps; of a list each entry, because one of them may be `undefined`. */
function shownList(steps: unknown): string {
  return Array.isArray(steps) ? `[${steps.map(shownStep).join(', ')}]` : shownStep(steps)
}
