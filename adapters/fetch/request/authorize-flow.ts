/**
 * Asks the application whether a caller may run a flow. A flow that the caller may not run is treated like an
 * unregistered one: the engine makes the reply, so the two cannot be told apart.
 */

import type { ServedEngine } from '../core/served-engine.js'
import { AuthorizationRefusal } from './authorize.js'

/** Whether the caller may run a registered flow. Throws an {@link AuthorizationRefusal} if there is no valid answer. */
export type FlowCheck = (principal: string | undefined, flowName: string, request: Request) => Promise<boolean>

/** @param authorizeFlow - the option */
export function createFlowCheck(
  authorizeFlow: (...question: Parameters<FlowCheck>) => boolean | Promise<boolean>,
  onError: (error: unknown) => void,
): FlowCheck {
  return async function mayRun(principal, flowName, request) {
    try {
      const answer: unknown = await authorizeFlow(principal, flowName, request)
      if (typeof answer === 'boolean') return answer
      throw new TypeError(`authorizeFlow returned a value of the type ${typeof answer}. It must return true or false.`)
    } catch (error) {
      onError(error)
      throw new AuthorizationRefusal('error')
    }
  }
}

/** The registered name of a flow, found by its current or a former name; `undefined` if there is none. */
export function registeredName(
  engine: Pick<ServedEngine, 'getFlowNames' | 'getFlow'>,
  flowName: string,
): string | undefined {
  const names = engine.getFlowNames()
  if (names.includes(flowName)) return flowName
  return names.find((name) => engine.getFlow?.(name)?.aliases.includes(flowName))
}
