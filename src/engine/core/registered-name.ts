/** The name of a flow, as events and logs may have it. */
import type { EngineContext } from './engine-context.js'

/**
 * The registered name of a flow that a caller names by it, or by a former one; empty where there is none. A flow that
 * the caller may not run (`hideFlow`) has none: it is found as little as one that is not registered.
 */
export function registeredName(
  { flows }: EngineContext,
  { flowName, hideFlow }: { readonly flowName: string; readonly hideFlow: true | undefined },
): string {
  const current = flows.currentName(flowName)
  return hideFlow === true || flows.get(current) === undefined ? '' : current
}
