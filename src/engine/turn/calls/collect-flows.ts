/** Constructs the flows among the steps of a flow, and their steps. */
import { flowCodeError, registrationError } from '../../../errors/engine-errors.js'
import { Flow } from '../../../flow/flow.js'
import { ofFlowCode } from '../control/flow-code-failure.js'
import type { TurnControl } from '../control/turn-control.js'
import { checkAliases, collectInto, newId } from '../draft/collect-steps.js'
import type { FlowScope, FlowSteps } from '../draft/flow-steps.js'

/** Flows within each other, the outer one included. */
const maxFlows = 4

/**
 * Collects the flows that `collectSteps` has noted, and calls their `init`.
 *
 * @throws `FlowRegistrationError` for a flow that contains itself, and for a fifth flow within four
 */
export async function collectFlows(control: TurnControl, steps: FlowSteps): Promise<void> {
  for (let next = steps.uncollected?.shift(); next !== undefined; next = steps.uncollected?.shift()) {
    const flow = collectFlow(steps, next, control.flowName)
    try {
      await flow.init()
    } catch (thrown) {
      throw ofFlowCode(control, thrown)
    }
    control.work.check()
  }
  checkAliases(steps, control.flowName)
}

function collectFlow(
  steps: FlowSteps,
  { flowClass, outer, prefixes }: NonNullable<FlowSteps['uncollected']>[number],
  flowName: string,
): Flow {
  const id = newId(steps, outer, flowName, prefixes, flowClass)
  const around: readonly unknown[] = steps.flowsFrom(outer).map((scope) => scope.flow.constructor)
  if (around.includes(flowClass)) throw registrationError(`Flow '${flowName}': the flow '${id}' contains itself.`)
  if (around.length >= maxFlows) {
    throw registrationError(`Flow '${flowName}': the flow '${id}' is more than ${maxFlows} flows deep.`)
  }
  const taken = [...steps.all().keys()].find((stepId) => stepId.startsWith(`${id}/`))
  if (taken !== undefined)
    throw registrationError(`Flow '${flowName}': only the flow '${id}' may have the step '${taken}'.`)
  if (outer.flow.steps()[0] === flowClass && outer.flow.initialStep() === undefined) {
    throw registrationError(
      `Flow '${flowName}': the first of steps() must be a step, in which a session starts; got flow '${id}'.`,
    )
  }
  const flow = new flowClass()
  Flow.nest(flow, outer.flow)
  const scope: FlowScope = { flow, prefix: `${id}/`, outer, initial: '', end: '' }
  steps.scopes ??= new Map()
  steps.scopes.set(id, scope)
  const names = [flowClass.id, ...flowClass.aliases]
  const inner = prefixes.flatMap((prefix) => names.map((name) => `${prefix}${name}/`))
  collectInto(steps, scope, id, inner)
  return flow
}

/**
 * The ID of a step, for `turn.stateOf` in a flow with flows among its steps.
 *
 * @throws `FlowCodeError` if several flows have the class, other than the called flow that asks, or none
 */
export function idOfClass(steps: FlowSteps, stepId: string, stepClass: { readonly id: string }): string {
  const scope = steps.scopeOf(stepId)
  const ids = [...steps.all()].flatMap(([id, step]) => ((step.constructor as unknown) === stepClass ? [id] : []))
  // A called flow need not know who else has its steps.
  const own = scope === steps.root ? undefined : ids.find((id) => steps.scopeOf(id) === scope)
  const [id = steps.idOf(stepClass, scope), other] = ids
  if (own !== undefined || other === undefined) return own ?? id
  throw flowCodeError(`turn.stateOf: the step is in the flow twice, as '${id}' and '${other}'. Give one its own class.`)
}
