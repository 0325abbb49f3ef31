/**
 * The ID of a request: the one that the client or a proxy has sent, where it is short and harmless, or a random one. It
 * is in the reply, in the engine's events and in its logs. What was sent otherwise is echoed nowhere.
 */
import { isRequestId } from '../../../src/util/patterns.js'
import { createRandomId } from '../../../src/util/random-id.js'
import { requestIdHeader } from '../core/header-names.js'

const randomId = createRandomId()

export function requestIdOf(headers: Headers): string {
  const sent = headers.get(requestIdHeader)
  return sent !== null && isRequestId(sent) ? sent : randomId(22)
}
