/** What a request says that has a session in its header, and nothing in its body. */

import { checkEmptyBody } from '../request/body.js'
import { checkContentType, readSessionHeader } from '../request/headers.js'
import type { RouteContext } from './route.js'

/**
 * The session that a request names; empty where it names none.
 *
 * @throws `Refusal` where the request is not valid, or has a body with anything in it.
 */
export async function readNamedSession({ engine, readBody }: RouteContext, request: Request): Promise<string> {
  const { sessionId } = readSessionHeader(request.headers)
  const body = await readBody(request)
  if (body !== '') checkContentType(request)
  checkEmptyBody(body, engine.limits.maxJsonDepth)
  return sessionId
}
