/** Asks the engine's option `errorText` for the texts that this adapter sends about refused requests. */
import { type AnyFlowError, FlowError } from '../../../src/index.js'
import type { ServedEngine } from '../core/served-engine.js'
import { Refusal } from './refusal.js'
import { codeOfRefusal } from './statuses.js'

/** The refused request. */
export interface RefusedRequest {
  readonly requestId: string
  /** The valid session ID that it names; empty if there is none. */
  readonly sessionId: string
  /** Default: empty, because the flow is not known yet. */
  readonly flowName?: string
}

/** The text for the client in place of `message`. */
export type TextOf = (message: string, code: AnyFlowError['code'], request: RefusedRequest) => string

/** Makes the function that asks an engine. A wrapper may lack `textOfRefusal`, throw, or return anything. */
export function createTextOf(engine: Pick<ServedEngine, 'textOfRefusal'>): TextOf {
  return function textOf(message, code, { flowName = '', ...request }) {
    const error = new FlowError({ code, message }) as AnyFlowError
    try {
      const text: unknown = engine.textOfRefusal?.(error, { ...request, flowName })
      return typeof text === 'string' ? text : message
    } catch {
      return message
    }
  }
}

/** A refusal with the text for the client. A wrong path or method is a mistake of a program: its sentence stays. */
export function withText(textOf: TextOf, refusal: Refusal, request: RefusedRequest): Refusal {
  const { message, preciseStatus, unreadBody } = refusal
  if (preciseStatus === 404 || preciseStatus === 405) return refusal
  // A function of the application, such as `authorize`, has failed.
  const code = preciseStatus === 500 ? 'FLOW_ERROR' : codeOfRefusal(preciseStatus)
  return new Refusal(textOf(message, code as AnyFlowError['code'], request), preciseStatus, unreadBody)
}
