/** `POST cancel`: cancels the running turn of the session that a request names. */
import { replyJson } from '../reply/envelope.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Cancels a turn. Throws a `Refusal` if the request is invalid. */
export async function cancelTurn(
  context: RouteContext,
  { request, caller, requestId, headers }: RoutedRequest,
): Promise<Response> {
  const { engine } = context
  const session = await readNamedSession(context, request)
  // Without `authorize` callers have no name, so a turn that runs for an owner is not theirs.
  const owner = caller?.principal === undefined ? {} : { owner: caller.principal }
  const cancelled = session !== '' && (await engine.cancel?.(session, { ...owner, requestId })) === true
  return replyJson({ success: true, session, cancelled }, 200, headers)
}
