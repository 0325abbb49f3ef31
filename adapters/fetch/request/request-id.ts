/**
 * The ID of a request: the one that the client or a proxy sent, if it is short and harmless, otherwise a random one. It
 * appears in the reply, in the engine's events and in its logs. Any other value is never echoed.
 */
import { isRequestId } from '../../../src/util/patterns.js'
import { createRandomId } from '../../../src/util/random-id.js'
import { requestIdHeader } from '../core/header-names.js'

const randomId = createRandomId()

export function requestIdOf(headers: Headers): string {
  const sent = headers.get(requestIdHeader)
  return sent !== null && isRequestId(sent) ? sent : randomId(22)
}
