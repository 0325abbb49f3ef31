/** `POST cancel`: cancels the turn under way of the session that a request names. */
import { replyJson } from '../reply/envelope.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Cancels a turn. Throws a `Refusal` where the request is not valid. */
export async function cancelTurn(
  context: RouteContext,
  { request, caller, requestId, headers }: RoutedRequest,
): Promise<Response> {
  const { engine } = context
  const session = await readNamedSession(context, request)
  // Without `authorize` no caller has a name: a turn that runs for an owner is not theirs.
  const owner = caller?.principal === undefined ? {} : { owner: caller.principal }
  const cancelled = session !== '' && (await engine.cancel?.(session, { ...owner, requestId })) === true
  return replyJson({ success: true, session, cancelled }, 200, headers)
}
