/** The steps of one flow object, constructed and checked. `run-steps.ts` decides which of them runs. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import {
  FlowCodeError,
  type FlowRegistrationError,
  flowCodeError,
  registrationError,
} from '../../../errors/engine-errors.js'
import { BaseStep, type StepConstructor, type StepRuntime } from '../../../flow/base-step.js'
import { checkStepStatics } from '../../../flow/check-declarations.js'
import { End, EndStep } from '../../../flow/end-step.js'
import type { Flow } from '../../../flow/flow.js'
import { LogicStep } from '../../../flow/logic-step.js'
import { Step } from '../../../flow/step.js'
import type { ResolvedModel } from '../../../model/model-registry.js'
import { shownValue } from '../../../util/shown-value.js'

const noAliases: ReadonlyMap<string, string> = new Map()

/** The steps of a turn, by ID. */
export class FlowSteps {
  readonly #flowName: string
  readonly #steps: ReadonlyMap<string, BaseStep>
  /** Current IDs by former ones; empty for most flows. */
  readonly aliases: ReadonlyMap<string, string>
  /** The `stateSchema` of each step that has one; `undefined` if none has. */
  readonly stateSchemas: ReadonlyMap<string, StandardSchemaV1> | undefined
  /** The step in which a session starts. */
  readonly initial: string
  /** The target of `finish`. */
  readonly end: string
  /** The models for model steps without their own; `undefined` if the flow names none. */
  flowModels: readonly ResolvedModel[] | undefined
  #ownModels: Map<string, readonly ResolvedModel[]> | undefined

  constructor(
    flowName: string,
    steps: ReadonlyMap<string, BaseStep>,
    aliases: ReadonlyMap<string, string>,
    stateSchemas: ReadonlyMap<string, StandardSchemaV1> | undefined,
    initial: StepConstructor | string,
    end: string,
  ) {
    this.#flowName = flowName
    this.#steps = steps
    this.aliases = aliases
    this.stateSchemas = stateSchemas
    this.end = end
    this.initial = this.idOf(initial)
  }

  /** The same steps with new step objects, so that still running code of the old ones cannot reach them. */
  renewed(): FlowSteps {
    const steps = new Map<string, BaseStep>()
    for (const [id, step] of this.#steps) steps.set(id, new (step.constructor as StepConstructor)())
    const { aliases, stateSchemas, initial, end } = this
    const renewed = new FlowSteps(this.#flowName, steps, aliases, stateSchemas, initial, end)
    renewed.flowModels = this.flowModels
    renewed.#ownModels = this.#ownModels
    return renewed
  }

  get(id: string): BaseStep | undefined {
    return this.#steps.get(id)
  }

  /** The step with the given ID. It must exist. */
  require(id: string): BaseStep {
    return this.#steps.get(id) as BaseStep
  }

  all(): ReadonlyMap<string, BaseStep> {
    return this.#steps
  }

  /** The model of a model step and its fallbacks, in order. */
  modelsOf(stepId: string): readonly ResolvedModel[] {
    return this.#ownModels?.get(stepId) ?? (this.flowModels as readonly ResolvedModel[])
  }

  setModels(stepId: string, models: readonly ResolvedModel[]): void {
    this.#ownModels ??= new Map()
    this.#ownModels.set(stepId, models)
  }

  /**
   * The ID of a step named by class or ID.
   *
   * @throws {@link FlowCodeError} that lists the steps of the flow.
   */
  idOf(target: { readonly id: string } | string): string {
    const id = typeof target === 'string' ? target : target.id
    if (this.#steps.has(id)) return id
    const known = [...this.#steps.keys()].join(', ')
    throw flowCodeError(`Flow '${this.#flowName}' has no step '${String(id)}'. Its steps: ${known}. Add it to steps().`)
  }
}

/**
 * Constructs the steps of `flow`.
 *
 * @throws {@link FlowRegistrationError} for an invalid result of `steps()`
 */
export function collectSteps(flow: Flow, flowName: string): FlowSteps {
  const steps = new Map<string, BaseStep>()
  let aliases: Map<string, string> | undefined
  let schemas: Map<string, StandardSchemaV1> | undefined
  let end: string | undefined
  for (const stepClass of stepClassesOf(flow, flowName)) {
    checkStepClass(stepClass, flowName)
    const id = checkStepId(stepClass, flowName)
    checkStatics(stepClass, flowName, id)
    if (steps.has(id)) throw usedTwice(id, flowName)
    const step = new stepClass()
    checkRun(step, flowName, id)
    steps.set(id, step)
    schemas = withSchema(schemas, stepClass, id)
    aliases = withAliases(aliases, stepClass, id, flowName)
    if (end === undefined && step instanceof EndStep) end = id
  }
  if (!steps.has(End.id)) steps.set(End.id, new End())
  if (aliases !== undefined) checkAliases(aliases, steps, flowName)
  const [first] = steps.keys()
  const initial = flow.initialStep() ?? (first as string)
  return new FlowSteps(flowName, steps, aliases ?? noAliases, schemas, initial, end ?? End.id)
}

/** The classes with checked static properties: each is checked once, not in each turn. */
const checkedClasses = new WeakSet<StepConstructor>()

function checkStatics(stepClass: StepConstructor, flowName: string, id: string): void {
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

function stepClassesOf(flow: Flow, flowName: string): readonly StepConstructor[] {
  // A class in JavaScript may lack it.
  const classes: unknown = typeof flow.steps === 'function' ? flow.steps() : undefined
  if (classes instanceof Promise) {
    throw registrationError(
      `Flow '${flowName}': steps() returned a promise. Take away async, and return the list itself.`,
    )
  }
  if (!Array.isArray(classes) || classes.length === 0) {
    throw registrationError(`Flow '${flowName}' must return at least one step class from steps().`)
  }
  return classes
}

function checkStepClass(stepClass: StepConstructor, flowName: string): void {
  const isStepClass =
    typeof stepClass === 'function' && [Step, LogicStep, EndStep].some((kind) => stepClass.prototype instanceof kind)
  if (isStepClass) return
  throw registrationError(
    `Flow '${flowName}': steps() must list step classes; got ${kindOf(stepClass)}. Extend Step, LogicStep or EndStep.`,
  )
}

/** The map with the aliases of one more step. Most flows have none, and no map is made for them. */
function withAliases(
  known: Map<string, string> | undefined,
  stepClass: StepConstructor,
  id: string,
  flowName: string,
): Map<string, string> | undefined {
  let aliases = known
  for (const alias of stepClass.aliases) {
    if (aliases?.has(alias)) throw usedTwice(alias, flowName)
    aliases ??= new Map()
    aliases.set(alias, id)
  }
  return aliases
}

/** The map with the `stateSchema` of one more step. No map is made for a flow whose steps have none. */
function withSchema(
  known: Map<string, StandardSchemaV1> | undefined,
  { stateSchema }: StepConstructor,
  id: string,
): Map<string, StandardSchemaV1> | undefined {
  return stateSchema === undefined ? known : (known ?? new Map()).set(id, stateSchema)
}

/** An alias may not be the ID of a step. */
function checkAliases(
  aliases: ReadonlyMap<string, string>,
  steps: ReadonlyMap<string, BaseStep>,
  flowName: string,
): void {
  for (const alias of aliases.keys()) if (steps.has(alias)) throw usedTwice(alias, flowName)
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

function checkStepId(stepClass: StepConstructor, flowName: string): string {
  const id: unknown = stepClass.id
  if (typeof id !== 'string' || id.trim() === '') {
    throw registrationError(`Flow '${flowName}' has a step whose ID is blank. Give it a static id.`)
  }
  if (id === '__proto__' || (id === End.id && (stepClass as unknown) !== End)) {
    throw registrationError(`Flow '${flowName}' has a step with the ID '${id}', which is reserved.`)
  }
  return id
}
