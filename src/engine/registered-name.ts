/** The name of a flow, as events and logs may have it. */
import type { EngineContext } from './engine-context.js'

/** The registered name of a flow that a caller names by it, or by a former one; empty where there is none. */
export function registeredName({ flows }: EngineContext, flowName: string): string {
  const current = flows.currentName(flowName)
  return flows.get(current) === undefined ? '' : current
}
