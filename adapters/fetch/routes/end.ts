/** `POST end`: deletes the session that a request names. */
import { codeHeader, type HeaderRecord } from '../core/header-names.js'
import type { ServedEngine } from '../core/served-engine.js'
import { replyJson } from '../reply/envelope.js'
import { codeOf } from '../reply/outcome.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Deletes a session. Throws a `Refusal` if the request is invalid. */
export async function endSession(
  context: RouteContext,
  { request, caller, requestId, headers: common }: RoutedRequest,
): Promise<Response> {
  const { engine, statuses } = context
  const sessionId = await readNamedSession(context, request)
  const { result, error } = await engine.executeDelete(sessionId, { ...ownerOf(caller), requestId })
  if (result.success) return replyJson(result, 200, common)
  const status = statusOf(error, statuses)
  const headers: HeaderRecord = { ...common, [codeHeader]: codeOf(error) }
  addRetryAfter(headers, status)
  return replyJson(result, status, headers)
}

/**
 * With options the engine deletes a session only if its owner is the given one, or if both are absent. Without options
 * it would delete any session, even one that only a newer release can read; only the application itself may do that.
 */
function ownerOf(caller: AuthorizedCaller | undefined): NonNullable<Parameters<ServedEngine['executeDelete']>[1]> {
  // Without `authorize` no session has an owner, so an unreadable one has none either.
  if (caller === undefined) return { unreadable: true }
  return caller.principal === undefined ? {} : { owner: caller.principal }
}
