/** `POST end`: deletes the session that a request names. */
import { codeHeader, type HeaderRecord } from '../core/header-names.js'
import type { ServedEngine } from '../core/served-engine.js'
import { replyJson } from '../reply/envelope.js'
import { codeOf } from '../reply/outcome.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Deletes a session. Throws a `Refusal` where the request is not valid. */
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
 * With options the engine deletes only a session of this owner, or without an `owner` one that has none. Without
 * options it would delete any session, also one that only a newer release can read: that is for the application itself.
 */
function ownerOf(caller: AuthorizedCaller | undefined): NonNullable<Parameters<ServedEngine['executeDelete']>[1]> {
  // Without `authorize` no session has an owner, so one that the store cannot read has none either.
  if (caller === undefined) return { unreadable: true }
  return caller.principal === undefined ? {} : { owner: caller.principal }
}
