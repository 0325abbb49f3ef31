/** The headers of every reply: the request ID, CORS, and those that forbid caching and content sniffing. */
import { type HeaderRecord, requestIdHeader } from '../core/header-names.js'

/** Forbid caching and content sniffing. */
export const safeHeaders: Readonly<HeaderRecord> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

/** The headers that do not depend on CORS. */
export function commonHeaders(requestId: string): HeaderRecord {
  return { ...safeHeaders, [requestIdHeader]: requestId }
}

/**
 * A new `Response` with these headers added; its own headers for caches and sniffing stay. The given one is not
 * changed, because its headers may be immutable.
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
