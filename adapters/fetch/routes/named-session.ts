/** Reads a request that names a session in its header and has an empty body. */

import { checkEmptyBody } from '../request/body.js'
import { checkContentType, readSessionHeader } from '../request/headers.js'
import type { RouteContext } from './route.js'

/**
 * The session ID of a request; empty if it has none.
 *
 * @throws `Refusal` if the request is invalid or its body is not empty
 */
export async function readNamedSession({ engine, readBody }: RouteContext, request: Request): Promise<string> {
  const { sessionId } = readSessionHeader(request.headers)
  const body = await readBody(request)
  if (body !== '') checkContentType(request)
  checkEmptyBody(body, engine.limits.maxJsonDepth)
  return sessionId
}
