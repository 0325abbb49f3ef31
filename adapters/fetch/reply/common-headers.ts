/**
 * The headers that every reply to a request has: its ID, what keeps the reply out of caches and content sniffing, and
 * CORS.
 */
import { type HeaderRecord, requestIdHeader } from '../core/header-names.js'

/** No reply may be kept by a cache, or be taken for another type than it says. */
export const safeHeaders: Readonly<HeaderRecord> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

/** Those of them that do not depend on CORS. */
export function commonHeaders(requestId: string): HeaderRecord {
  return { ...safeHeaders, [requestIdHeader]: requestId }
}

/**
 * A `Response` with these headers; what it says itself of caches and sniffing stands. It is made anew: the headers of
 * an application's own may be immutable.
 */
export function withCommonHeaders(response: Response, common: Readonly<HeaderRecord>): Response {
  const { status, statusText, body } = response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(common)) {
    if (name === 'Vary') headers.append(name, value)
    else if (!(name in safeHeaders && headers.has(name))) headers.set(name, value)
  }
  return new Response(body, { status, statusText, headers })
}
