/** Constructs the steps of a flow object, and checks them. `run-steps.ts` decides which of them runs. */
import { type FlowRegistrationError, registrationError } from '../../../errors/engine-errors.js'
import { BaseStep, type StepConstructor, type StepRuntime } from '../../../flow/base-step.js'
import { checkStepStatics } from '../../../flow/check-declarations.js'
import { End, EndStep } from '../../../flow/end-step.js'
import { Flow, type FlowConstructor } from '../../../flow/flow.js'
import { LogicStep } from '../../../flow/logic-step.js'
import { Step } from '../../../flow/step.js'
import { shownValue } from '../../../util/shown-value.js'
import { type FlowScope, FlowSteps } from './flow-steps.js'

type ListedClass = StepConstructor | FlowConstructor

const noPrefixes: readonly string[] = ['']

/**
 * Constructs the steps of `flow`.
 *
 * @throws {@link FlowRegistrationError} for an invalid result of `steps()`
 */
export function collectSteps(flow: Flow, flowName: string): FlowSteps {
  const steps = new FlowSteps(flow, flowName)
  collectInto(steps, steps.root, flowName, noPrefixes)
  checkAliases(steps, flowName)
  if (flow.events !== Flow.prototype.events) steps.needsLate = true
  return steps
}

/**
 * Collects the steps that one flow lists, and notes the flows among them.
 *
 * @param flowName - The flow of the session, for error messages.
 * @param prefixes - What the IDs of the steps begin with, and began with formerly.
 */
export function collectInto(steps: FlowSteps, scope: FlowScope, flowName: string, prefixes: readonly string[]): void {
  const { flow, prefix } = scope
  let first: string | undefined
  let end: string | undefined
  for (const listed of stepClassesOf(flow, flowName)) {
    if (isFlowClass(listed)) {
      steps.uncollected ??= []
      steps.uncollected.push({ flowClass: listed, outer: scope, prefixes })
      steps.needsLate = true
      continue
    }
    checkStepClass(listed, flowName)
    const id = newId(steps, scope, flowName, prefixes, listed)
    const step = new listed()
    checkRun(step, flowName, id)
    steps.add(id, step, scope)
    first ??= id
    if (end === undefined && step instanceof EndStep) end = id
  }
  if (first === undefined) throw noSteps(flowName)
  const ready = prefix + End.id
  if (steps.get(ready) === undefined) steps.add(ready, new End(), scope)
  const initial = flow.initialStep()
  scope.initial = initial === undefined ? first : steps.idOf(initial, scope)
  scope.end = end ?? ready
}

/** The checked ID of a step or a flow: `Address/Street` if a flow lists it. */
export function newId(
  steps: FlowSteps,
  { prefix }: FlowScope,
  flowName: string,
  prefixes: readonly string[],
  listed: ListedClass,
): string {
  const id = prefix + checkStepId(listed, flowName)
  checkStatics(listed, flowName, id)
  if (steps.get(id) !== undefined || steps.scopes?.has(id)) throw usedTwice(id, flowName)
  addAliases(steps, listed, id, prefixes, flowName)
  return id
}

function isFlowClass(listed: ListedClass): listed is FlowConstructor {
  return typeof listed === 'function' && listed.prototype instanceof Flow
}

/** The classes with checked static properties: each is checked once, not in each turn. */
const checkedClasses = new WeakSet<ListedClass>()

function checkStatics(stepClass: ListedClass, flowName: string, id: string): void {
  if (checkedClasses.has(stepClass)) return
  checkStepStatics(`Flow '${flowName}', step '${id}'`, stepClass)
  checkedClasses.add(stepClass)
}

/** It may be a field of the object, invisible on the class. */
function checkRun(step: BaseStep, flowName: string, id: string): void {
  if (!(step instanceof LogicStep)) return
  const run: unknown = step.run
  if (typeof run === 'function') return
  throw registrationError(
    `Flow '${flowName}', step '${id}': a LogicStep must have a method run(turn) that returns a transition; run is ${shownValue(run)}.`,
  )
}

/** Attaches the steps to a draft, which then holds their state. */
export function attachSteps(draft: StepRuntime & { readonly steps: FlowSteps }): void {
  for (const [stepId, step] of draft.steps.all()) BaseStep.attach(step, draft, stepId)
}

function stepClassesOf(flow: Flow, flowName: string): readonly ListedClass[] {
  // A class in JavaScript may lack it.
  const classes: unknown = typeof flow.steps === 'function' ? flow.steps() : undefined
  if (classes instanceof Promise) {
    throw registrationError(
      `Flow '${flowName}': steps() returned a promise. Take away async, and return the list itself.`,
    )
  }
  if (!Array.isArray(classes) || classes.length === 0) {
    throw noSteps(flowName)
  }
  return classes
}

function noSteps(flowName: string): FlowRegistrationError {
  return registrationError(`Flow '${flowName}' must return at least one step class from steps().`)
}

function checkStepClass(stepClass: ListedClass, flowName: string): asserts stepClass is StepConstructor {
  const isStepClass =
    typeof stepClass === 'function' && [Step, LogicStep, EndStep].some((kind) => stepClass.prototype instanceof kind)
  if (isStepClass) return
  throw registrationError(
    `Flow '${flowName}': steps() must list step classes; got ${kindOf(stepClass)}. Extend Step, LogicStep or EndStep.`,
  )
}

/** Adds the former IDs of a step or a flow. Its own name may have changed, and the names of the flows around it. */
function addAliases(
  steps: FlowSteps,
  { id: name, aliases: names }: ListedClass,
  id: string,
  prefixes: readonly string[],
  flowName: string,
): void {
  // Most steps have none.
  if (names.length === 0 && prefixes.length === 1) return
  const aliases = new Map(steps.aliases)
  for (const alias of prefixes.flatMap((prefix) => [name, ...names].map((one) => prefix + one))) {
    if (alias === id) continue
    if (aliases.has(alias)) throw usedTwice(alias, flowName)
    aliases.set(alias, id)
  }
  steps.aliases = aliases
}

/** An alias may not be the ID of a step or a flow. */
export function checkAliases(steps: FlowSteps, flowName: string): void {
  for (const alias of steps.aliases.keys()) {
    if (steps.get(alias) !== undefined || steps.scopes?.has(alias)) throw usedTwice(alias, flowName)
  }
}

function usedTwice(id: string, flowName: string): FlowRegistrationError {
  return registrationError(`Flow '${flowName}' has two steps with the ID or alias '${id}'. Give each a static id.`)
}

function kindOf(value: unknown): string {
  // It has the methods of a step class, but not its base class.
  const isCopied =
    typeof value === 'function' && 'onEnter' in Object(value.prototype) && !(value.prototype instanceof BaseStep)
  return isCopied
    ? `${shownValue(value)} of another copy of turnkeeper (npm ls turnkeeper shows both)`
    : shownValue(value)
}

function checkStepId(stepClass: ListedClass, flowName: string): string {
  const id: unknown = stepClass.id
  if (typeof id !== 'string' || id.trim() === '') {
    throw registrationError(`Flow '${flowName}' has a step whose ID is blank. Give it a static id.`)
  }
  if (id === '__proto__' || (id === End.id && (stepClass as unknown) !== End)) {
    throw registrationError(`Flow '${flowName}' has a step with the ID '${id}', which is reserved.`)
  }
  return id
}
