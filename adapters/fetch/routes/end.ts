/** `POST end`: deletes the session that a request names. */
import { replyJson } from '../reply/envelope.js'
import { statusOf } from '../reply/statuses.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import { checkEndBody } from '../request/body.js'
import { checkContentType, readSessionHeader } from '../request/headers.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Deletes a session. Throws a `Refusal` where the request is not valid. */
export async function endSession(
  context: RouteContext,
  { request, caller, corsHeaders }: RoutedRequest,
): Promise<Response> {
  const { engine, readBody, statuses } = context
  const { sessionId } = readSessionHeader(request.headers)
  const body = await readBody(request)
  if (body !== '') checkContentType(request)
  checkEndBody(body, engine.limits.maxJsonDepth)
  const { result, error } = await engine.executeDelete(sessionId, ownerOf(caller))
  return replyJson(result, result.success ? 200 : statusOf(error, statuses), corsHeaders)
}

/**
 * With options that have no `owner` the engine deletes only a session without an owner, which is what a caller without a
 * name may do. Without options it does not check the owner: without `authorize` no session has one.
 */
function ownerOf(caller: AuthorizedCaller | undefined): { readonly owner?: string } | undefined {
  if (caller === undefined) return undefined
  return caller.principal === undefined ? {} : { owner: caller.principal }
}
