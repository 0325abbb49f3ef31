/** A request to a model, kept for a test. The check of expectations is in `scripted-model/expected-request.ts`. */
import type { ModelRequest } from '../../src/index.js'

/** A request as it was at the moment of the call. */
export interface RecordedRequest extends Omit<ModelRequest, 'signal'> {
  /** Whether the answer was requested as a stream. */
  readonly streamed: boolean
  /**
   * How it ended: `'cut'` is a stream without its last part, `'stopped'` one whose reader stopped, or a call whose
   * signal fired. Absent until it ends.
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
