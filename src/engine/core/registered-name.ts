/** The name of a flow for events and logs. */
import type { EngineContext } from './engine-context.js'

/**
 * The registered name of a flow, found by its current or a former name; empty if there is none. A hidden flow
 * (`hideFlow`) looks exactly like an unregistered one.
 */
export function registeredName(
  { flows }: EngineContext,
  { flowName, hideFlow }: { readonly flowName: string; readonly hideFlow: true | undefined },
): string {
  const current = flows.currentName(flowName)
  return hideFlow === true || flows.get(current) === undefined ? '' : current
}
