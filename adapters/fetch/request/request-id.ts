/**
 * The ID of a request: the one that the client or a proxy has sent, where it is short and harmless, or a random one. It
 * is in the reply, in the engine's events and in its logs. What was sent otherwise is echoed nowhere.
 */
import { isRequestId } from '../../../src/util/patterns.js'
import { requestIdHeader } from '../core/header-names.js'

export function requestIdOf(headers: Headers): string {
  const sent = headers.get(requestIdHeader)
  return sent !== null && isRequestId(sent) ? sent : makeRequestId()
}

/** 16 random bytes in base64url. */
function makeRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .slice(0, 22)
}
