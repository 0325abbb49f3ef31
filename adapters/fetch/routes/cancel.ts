/** `POST cancel`: cancels the running turn of the session that a request names. */
import { FlowError } from '../../../src/index.js'
import { replyJson } from '../reply/envelope.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { loadSession } from './visible-session.js'

/** Cancels a turn. Throws a `Refusal` if the request is invalid. */
export async function cancelTurn(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { engine } = context
  const { request, caller, requestId, headers } = routed
  const session = await readNamedSession(context, request)
  // Without `authorize` callers have no name, so a turn that runs for an owner is not theirs.
  const owner = caller?.principal === undefined ? {} : { owner: caller.principal }
  const cancelled =
    session !== '' &&
    (await mayCancel(context, routed, session)) &&
    (await engine.cancel?.(session, { ...owner, requestId })) === true
  return replyJson({ success: true, session, cancelled }, 200, headers)
}

/** Whether the session's flow is one that the caller may run. A first turn, whose session is not stored yet, may be. */
async function mayCancel(context: RouteContext, routed: RoutedRequest, sessionId: string): Promise<boolean> {
  if (context.mayRun === undefined) return true
  try {
    return (await loadSession(context, routed, sessionId))?.isHidden !== true
  } catch (error) {
    if (FlowError.isInstance(error)) return false
    throw error
  }
}
