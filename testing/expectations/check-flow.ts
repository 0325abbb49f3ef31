/** The check of a flow that a test passes. */
import { invalidInput } from '../../src/util/options.js'
import { shownStep } from './value-kinds.js'

/** @throws `InvalidInputError` for what is not the class of a flow, of this copy of the package or another. */
export function checkFlow(caller: string, flow: unknown): void {
  const isFlow = typeof flow === 'function' && 'addContext' in Object(flow.prototype)
  if (!isFlow) throw invalidInput(`${caller}: the flow must be a class that extends Flow; got ${shownStep(flow)}.`)
}
