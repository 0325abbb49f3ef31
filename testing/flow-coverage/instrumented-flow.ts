/**
 * A flow class that behaves like another one, and reports or changes what the engine gets from it: its models and tools.
 * The engine makes a flow object and its steps for each turn, so the constructors are wrapped: the objects are those of
 * the flow's own classes. Conversations and tool doubles use it.
 */
import {
  type Flow,
  type FlowConstructor,
  type ModelSelection,
  Step,
  type StepConstructor,
  type Tool,
} from '../../src/index.js'

/** What is reported, and what may be changed. */
export interface FlowInstruments {
  /** Called with each model that the flow or a step names, before the engine looks it up. */
  onModel?(selection: ModelSelection): void
  /** Called with the IDs of the flow's steps. */
  onSteps?(ids: readonly string[]): void
  /** Called with the tools of the flow or a step; returns those that are offered in their place. */
  replaceTools?(offered: readonly Tool[]): readonly Tool[]
}

/** The same flow, instrumented. */
export function instrumentFlow(flowClass: FlowConstructor, instruments: FlowInstruments): FlowConstructor {
  const steps = new WeakMap<StepConstructor, StepConstructor>()
  const stepClass = (original: StepConstructor): StepConstructor => {
    if (!(original?.prototype instanceof Step)) return original
    const known = steps.get(original)
    if (known !== undefined) return known
    const made = whenMade(original, (step) => instrument(step as Step, instruments))
    steps.set(original, made)
    return made
  }
  return whenMade(flowClass, (flow) => {
    instrument(flow, instruments)
    const original = flow.steps
    flow.steps = () => {
      const listed = original.call(flow)
      // The engine refuses what is not a list.
      if (!Array.isArray(listed)) return listed
      instruments.onSteps?.(listed.map((step: StepConstructor | undefined) => String(step?.id)))
      return listed.map(stepClass)
    }
  })
}

/** Wraps a class: `change` gets each new object. Everything else is the class's own. */
function whenMade<Class extends new () => object>(original: Class, change: (made: InstanceType<Class>) => void): Class {
  return new Proxy(original, {
    construct(target) {
      const made = new target() as InstanceType<Class>
      change(made)
      return made
    },
    get: (target, key) => Reflect.get(target, key, target),
  })
}

function instrument(part: Flow | Step, { onModel, replaceTools }: FlowInstruments): void {
  const { model, tools } = part
  if (onModel !== undefined) {
    part.model = () => {
      const choice = model.call(part)
      for (const selection of choice === undefined ? [] : [choice].flat()) onModel(selection)
      return choice
    }
  }
  if (replaceTools !== undefined) {
    part.tools = (turn) => {
      const offered = tools.call(part, turn)
      return Array.isArray(offered) ? replaceTools(offered) : (offered as Promise<readonly Tool[]>).then(replaceTools)
    }
  }
}
