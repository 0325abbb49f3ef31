/**
 * Reads the headers of a request: the session ID, the content type of the body, and whether the client wants a stream.
 * The engine finds out whether the session exists.
 */
import { isJsonMediaType, isSessionId } from '../../../src/util/patterns.js'
import { dashedSessionHeader, sessionHeader } from '../core/header-names.js'
import { Refusal } from '../reply/refusal.js'

/** The session that a request names. */
export interface NamedSession {
  /** The session ID; empty for a new session. */
  readonly sessionId: string
  /** Whether the header with dashes was sent, even if empty; then the reply has it too. */
  readonly dashed: boolean
}

/** @throws Refusal for a value that cannot be a session ID, and for two headers that differ. */
export function readSessionHeader(headers: Headers): NamedSession {
  const underscored = headers.get(sessionHeader)
  const dashed = headers.get(dashedSessionHeader)
  if (underscored !== null && dashed !== null && underscored !== dashed) {
    throw new Refusal('The headers CHAT_SESSION_ID and Chat-Session-Id carry different session IDs.')
  }
  const sessionId = underscored ?? dashed ?? ''
  if (sessionId !== '' && !isSessionId(sessionId)) {
    throw new Refusal(
      'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.',
    )
  }
  return { sessionId, dashed: dashed !== null }
}

/** The session that a refused request names; empty if it names none, or one that cannot exist. */
export function sessionOfRefused(headers: Headers): string {
  const sent = headers.get(sessionHeader) || headers.get(dashedSessionHeader) || ''
  return isSessionId(sent) ? sent : ''
}

/**
 * Refuses a `POST` of a page of another site that does not name its origin, which browsers always send (Fetch Metadata
 * Request Headers, section 2.3). A `GET` may be a link that the user has clicked.
 */
export function checkSite({ method, headers }: Request): void {
  if (method !== 'POST' || headers.get('sec-fetch-site') !== 'cross-site' || headers.has('origin')) return
  throw new Refusal('A request of another site must have the header Origin.')
}

/**
 * Refuses a body from a web page that is not declared as JSON: a form on a foreign site can send plain text without
 * permission, but JSON only if CORS allows it.
 */
export function checkContentType(request: Request): void {
  if (request.headers.get('origin') === null) return
  const mediaType = (request.headers.get('content-type') ?? '').split(';', 1)[0]?.trim() ?? ''
  if (isJsonMediaType(mediaType)) return
  throw new Refusal('The request body must be sent as application/json.', 415)
}

const eventStream = /text\/event-stream/i
const weight = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Whether a request asks for its reply as server-sent events. Its Accept header decides (RFC 9110, section 12.5.1): the
 * type must be named, because a client without a preference accepts any type, and JSON must not have a higher weight.
 */
export function asksForStream(headers: Headers): boolean {
  const accept = headers.get('accept')
  // Most requests do not name an event stream, so their header need not be parsed.
  return accept !== null && eventStream.test(accept) && prefersStream(accept)
}

function prefersStream(accept: string): boolean {
  const weights = new Map<string, number>()
  for (const range of split(accept, ',')) {
    const [type = '', ...parameters] = split(range, ';')
    const weight = weightOf(parameters)
    if (weight !== undefined) weights.set(type, Math.max(weight, weights.get(type) ?? 0))
  }
  const stream = weights.get('text/event-stream') ?? 0
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0
  // If a client names both with the same weight, it gets the stream, which begins sooner.
  return stream > 0 && stream >= json
}

/** 1 by default; `undefined` for an invalid weight, whose range is then ignored. */
function weightOf(parameters: readonly string[]): number | undefined {
  const parameter = parameters.find((text) => /^q\s*=/.test(text))
  if (parameter === undefined) return 1
  const value = parameter.slice(parameter.indexOf('=') + 1).trim()
  return weight.test(value) ? Number(value) : undefined
}

/** The parts between separators, in lower case. A separator in a quoted string does not count. */
function split(text: string, separator: string): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') quoted = !quoted
    else if (character === '\\' && quoted) index++
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim().toLowerCase())
}
