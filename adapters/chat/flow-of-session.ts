/** Compares the flow of a chat with the flow of a session. A session has one flow for ever, but flows get new names. */
import type { FlowEngine, SessionDocument } from '../../src/index.js'
import { registeredName } from '../fetch/request/authorize-flow.js'

/** An engine, or a wrapper that may not know its flows. */
type AnyEngine = Partial<FlowNames>
type FlowNames = Pick<FlowEngine, 'getFlowNames' | 'getFlow'>

/** Whether a session belongs to the flow of this current or former name. */
export function isOfFlow(engine: AnyEngine, document: SessionDocument, flow: string): boolean {
  return currentName(engine, document.flow.name) === currentName(engine, flow)
}

/** The registered name of a flow; the given one if the engine does not know it. */
export function currentName(engine: AnyEngine, flow: string): string {
  return (knowsFlows(engine) ? registeredName(engine, flow) : undefined) ?? flow
}

/** Whether an engine knows its flows. */
export function knowsFlows<Engine extends AnyEngine>(engine: Engine): engine is Engine & FlowNames {
  return engine.getFlowNames !== undefined && engine.getFlow !== undefined
}
