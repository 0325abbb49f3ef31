/**
 * A flow class that behaves like another one, and reports or changes what the engine gets from it: its models and
 * tools. The engine makes a flow object and its steps for each turn, so the constructors are wrapped; the objects still
 * belong to the flow's own classes. Conversations and tool doubles use it.
 */
import {
  type AnyFlowError,
  type BaseStep,
  End,
  EndStep,
  Flow,
  type FlowConstructor,
  type FlowEvent,
  LogicStep,
  type ModelSelection,
  Step,
  type StepConstructor,
  type Tool,
  type Turn,
} from '../../src/index.js'

/** What is reported, and what may be changed. */
export interface FlowInstruments {
  /** Called with each model that the flow or a step names, before the engine looks it up. */
  onModel?(selection: ModelSelection): void
  /** Called with the events that the flow or a step declares, whenever the engine asks for them, and the ID of it. */
  onEvents?(owner: string, declared: readonly FlowEvent[]): void
  /** Called with the tools of the flow or a step, which is `owner`; returns those that are offered in their place. */
  replaceTools?(offered: readonly Tool[], owner: Flow | Step): readonly Tool[]
  /** Called with the turn, before code of the flow or of a step gets it; often more than once. */
  onTurn?(turn: Turn): void
  /** Called with an error for which the flow's `onError` answered. */
  onAnsweredError?(error: AnyFlowError): void
}

/** The same flow, instrumented, with the flows among its steps. */
export function instrumentFlow(flowClass: FlowConstructor, instruments: FlowInstruments): FlowConstructor {
  return instrumentedFlow(flowClass, { id: flowClass.id, prefix: '', around: [] }, instruments)
}

/** Where a flow is: its ID for reports, what the IDs of its steps begin with, and the flows around it. */
interface FlowPlace {
  readonly id: string
  readonly prefix: string
  readonly around: readonly FlowConstructor[]
}

function instrumentedFlow(
  flowClass: FlowConstructor,
  { id: flowId, prefix, around }: FlowPlace,
  instruments: FlowInstruments,
): FlowConstructor {
  const known = new WeakMap<object, StepConstructor | FlowConstructor>()
  const instrumented = (listed: StepConstructor | FlowConstructor): StepConstructor | FlowConstructor => {
    const id = `${prefix}${listed?.id}`
    if (listed?.prototype instanceof Flow) {
      const outer = [...around, flowClass]
      // The engine refuses a flow that contains itself, and knows it by the class.
      if (outer.includes(listed as FlowConstructor)) return listed
      return instrumentedFlow(listed as FlowConstructor, { id, prefix: `${id}/`, around: outer }, instruments)
    }
    const isOfFlow = [Step, LogicStep, EndStep].some((kind) => listed?.prototype instanceof kind)
    // The engine knows its own end step by the class.
    if (!isOfFlow || listed === End) return listed
    return whenMade(listed as StepConstructor, (step) => {
      // The engine calls one of these before everything else that gets the turn.
      watchTurn(step, ['onEnter', 'onRestore'], instruments)
      if (step instanceof Step) instrument(step, instruments)
      if (step.events !== LogicStep.prototype.events) watchEvents(step, id, instruments)
    })
  }
  const once = (listed: StepConstructor | FlowConstructor): StepConstructor | FlowConstructor => {
    const made = known.get(Object(listed)) ?? instrumented(listed)
    known.set(Object(listed), made)
    return made
  }
  return whenMade(flowClass, (flow) => {
    instrument(flow, instruments)
    if (flow.events !== Flow.prototype.events) watchEvents(flow, flowId, instruments)
    // The engine does more for a flow that has these hooks.
    const hooks = (['onMessage', 'onError'] as const).filter((hook) => flow[hook] !== Flow.prototype[hook])
    watchTurn(flow, hooks, instruments)
    if (hooks.includes('onError')) watchAnswers(flow, instruments)
    const original = flow.steps
    flow.steps = () => {
      const listed = original.call(flow)
      // The engine refuses what is not a list.
      return Array.isArray(listed) ? listed.map(once) : listed
    }
  })
}

/** Wraps a class: `change` gets each new object. Everything else is the class's own. */
export function whenMade<Class extends new () => object>(
  original: Class,
  change: (made: InstanceType<Class>) => void,
): Class {
  return new Proxy(original, {
    construct(target) {
      const made = new target() as InstanceType<Class>
      change(made)
      return made
    },
    get: (target, key) => Reflect.get(target, key, target),
  })
}

/** Reports the turn to `onTurn` when one of these hooks gets it, as its last argument. */
function watchTurn(part: Flow | BaseStep, hooks: readonly string[], { onTurn }: FlowInstruments): void {
  if (onTurn === undefined) return
  const methods = part as unknown as Record<string, (...args: readonly unknown[]) => unknown>
  for (const hook of hooks) {
    const original = methods[hook]
    methods[hook] = (...args) => {
      onTurn(args.at(-1) as Turn)
      return original?.apply(part, args as unknown[])
    }
  }
}

function watchEvents(part: Flow | BaseStep, owner: string, { onEvents }: FlowInstruments): void {
  if (onEvents === undefined) return
  const original = part.events
  part.events = () => {
    const declared = original.call(part)
    // The engine refuses what is not a list.
    if (Array.isArray(declared)) onEvents(owner, declared)
    return declared
  }
}

function watchAnswers(flow: Flow, { onAnsweredError }: FlowInstruments): void {
  if (onAnsweredError === undefined) return
  const { onError } = flow
  flow.onError = async (error, turn) => {
    const answer = await onError.call(flow, error, turn)
    if (answer !== undefined) onAnsweredError(error)
    return answer
  }
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
      const offered: unknown = tools.call(part, turn)
      // The engine refuses what is not a list.
      const replaced = (list: unknown): readonly Tool[] =>
        Array.isArray(list) ? replaceTools(list, part) : (list as readonly Tool[])
      return Array.isArray(offered) ? replaceTools(offered, part) : Promise.resolve(offered).then(replaced)
    }
  }
}
