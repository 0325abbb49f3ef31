/** The steps of one flow object, by ID, with the flows among them. `collect-steps.ts` constructs and checks them. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type FlowCodeError, flowCodeError } from '../../../errors/engine-errors.js'
import { BaseStep, type StepConstructor } from '../../../flow/base-step.js'
import type { Flow, FlowConstructor } from '../../../flow/flow.js'
import type { ResolvedModel } from '../../../model/model-registry.js'

const noAliases: ReadonlyMap<string, string> = new Map()

/** The flow of a session, or a flow among its steps. */
export interface FlowScope {
  readonly flow: Flow
  /** What the IDs of its steps begin with: `Address/`; empty for the flow of the session. */
  readonly prefix: string
  /** The flow that lists it. */
  readonly outer: FlowScope | undefined
  /** The step in which it starts. */
  initial: string
  /** The target of `finish`. */
  end: string
}

/** What only some turns need of their steps: `turn/events/late-code.ts`. */
export interface LateStepCode {
  idOfClass(steps: FlowSteps, stepId: string, stepClass: { readonly id: string }): string
  setChoices(draft: unknown, stepId: string, choices: undefined): void
  setTimer(draft: unknown, name: string, ms: number | undefined): void
}

/** A flow that another one lists. */
interface UncollectedFlow {
  readonly flowClass: FlowConstructor
  readonly outer: FlowScope
  /** What the IDs of the outer flow's steps begin with, and began with formerly. */
  readonly prefixes: readonly string[]
}

/** The steps of a turn, by ID. Most flows do not have the fields that are only declared, and make no room for them. */
export class FlowSteps {
  readonly #flowName: string
  readonly #steps: Map<string, BaseStep> = new Map()
  /** Current IDs by former ones; empty for most flows. */
  aliases: ReadonlyMap<string, string> = noAliases
  /** The `stateSchema` of each step that has one; `undefined` if none has. */
  declare stateSchemas: Map<string, StandardSchemaV1> | undefined
  /** The flow of the session. */
  readonly root: FlowScope
  /** Whether there are events, or flows among the steps: then a turn loads what they need before it begins. */
  declare needsLate: boolean | undefined
  /** The late code, once the turn has loaded it. */
  declare late: LateStepCode | undefined
  /** The flows among the steps that `collect-flows.ts` has yet to collect. */
  declare uncollected: UncollectedFlow[] | undefined
  /** The flows among the steps, by ID; `undefined` if there are none. */
  declare scopes: Map<string, FlowScope> | undefined
  /** The scopes of their steps. */
  declare scopeByStep: Map<string, FlowScope> | undefined
  /** The models for model steps without their own; `undefined` if the flow names none. */
  flowModels: readonly ResolvedModel[] | undefined
  #ownModels: Map<string, readonly ResolvedModel[]> | undefined

  constructor(flow: Flow, flowName: string) {
    this.#flowName = flowName
    this.root = { flow, prefix: '', outer: undefined, initial: '', end: '' }
  }

  /** The same steps with new step objects, so that still running code of the old ones cannot reach them. */
  withNewSteps(): FlowSteps {
    const copy = new FlowSteps(this.root.flow, this.#flowName)
    Object.assign(copy, this)
    for (const [id, step] of this.#steps) copy.#steps.set(id, new (step.constructor as StepConstructor)())
    copy.#ownModels = this.#ownModels
    return copy
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

  add(id: string, step: BaseStep, scope: FlowScope): void {
    this.#steps.set(id, step)
    const { stateSchema } = step.constructor as StepConstructor
    if (stateSchema !== undefined) {
      this.stateSchemas ??= new Map()
      this.stateSchemas.set(id, stateSchema)
    }
    if (step.events !== BaseStep.prototype.events) this.needsLate = true
    if (scope === this.root) return
    this.scopeByStep ??= new Map()
    this.scopeByStep.set(id, scope)
  }

  /** The flow that lists a step. */
  scopeOf(stepId: string): FlowScope {
    return this.scopeByStep?.get(stepId) ?? this.root
  }

  /** A flow and those around it, the inside one first. */
  flowsFrom(inside: FlowScope): readonly FlowScope[] {
    const scopes = [inside]
    for (let { outer } = inside; outer !== undefined; outer = outer.outer) scopes.push(outer)
    return scopes
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
   * The ID of a step named by class or ID: of the flow that names it, or else of the flows around it.
   *
   * @throws {@link FlowCodeError} that lists the steps of the flow.
   */
  idOf(target: { readonly id: string } | string, scope: FlowScope = this.root): string {
    const id = this.find(target, scope)
    if (id !== undefined && this.#steps.has(id)) return id
    const name = String(typeof target === 'string' ? target : target.id)
    if (id !== undefined) throw flowCodeError(`'${name}' is a flow: return call(${name}).`)
    const known = [...this.#steps.keys(), ...(this.scopes?.keys() ?? [])].join(', ')
    throw flowCodeError(`Flow '${this.#flowName}' has no step '${name}'. Its steps: ${known}. Add it to steps().`)
  }

  /** The ID of a step or a flow named by class or ID; `undefined` if neither is known. */
  find(target: { readonly id: string } | string, from: FlowScope): string | undefined {
    const name = typeof target === 'string' ? target : target.id
    let found: string | undefined
    for (let scope: FlowScope | undefined = from; scope !== undefined; scope = scope.outer) {
      const id = scope.prefix + name
      const known = this.#steps.get(id) ?? this.scopes?.get(id)?.flow
      // Another flow may have another class with this ID.
      if ((known?.constructor as unknown) === target) return id
      if (known !== undefined) found ??= id
    }
    return found
  }
}
