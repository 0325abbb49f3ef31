/** A request to a model: kept for a test, and in words. The check of expectations is in `scripted-model/expected-request.ts`. */
import type { ModelRequest } from '../../src/index.js'
import { list, show } from '../expectations/expectation-error.js'

/** A request as it was at the moment of the call. */
export interface RecordedRequest extends Omit<ModelRequest, 'signal'> {
  /** Whether the answer was requested as a stream. */
  readonly streamed: boolean
  /**
   * How it ended: `'cut'` is a stream without its last part, `'stopped'` one whose reader stopped, or a call whose signal
   * fired. Absent until it ends.
   */
  readonly outcome?: 'answered' | 'failed' | 'cut' | 'stopped'
}

/** Keeps a request. */
export function recordedRequest(request: ModelRequest, streamed: boolean): RecordedRequest {
  const { system, messages, tools, params, output, origin } = request
  return {
    ...(system === undefined ? {} : { system }),
    messages: [...messages],
    tools,
    params,
    ...(output === undefined ? {} : { output }),
    origin,
    streamed,
  }
}

/** Where a request comes from, in words. */
export function whereOf({ origin }: Pick<ModelRequest, 'origin'>): string {
  const { flowName, stepId, turnNumber, callNumber, attempt } = origin
  const again = attempt > 1 ? `, attempt ${attempt}` : ''
  return `flow '${flowName}', step '${stepId}', turn ${turnNumber}, call ${callNumber} of the turn${again}`
}

/** The content of a request, in one line. */
export function askedOf({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): string {
  const last = messages.at(-1)
  const parts = (last?.parts ?? []).map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return show(part.text)
    if (part.type === 'tool-call') return `call of ${part.toolName}`
    return part.type === 'tool-result' ? `${part.toolName} = ${show(part.output)}` : part.mediaType
  })
  const asked = last === undefined ? 'nothing' : `${last.role} ${parts.join(', ')}`
  return `  asked: ${asked}\n  tools offered: ${list(tools.map(({ name }) => name))}`
}
