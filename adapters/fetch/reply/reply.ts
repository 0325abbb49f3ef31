// Turns a result into an HTTP reply: envelope, raw or a stream, status, headers. What is in the result was decided by the engine.
// Nothing that a flow returned may make a reply fail, so each string is checked before it becomes a header.
import type { ExecuteResult, RunResponseType } from '../../../src/index.js'
import { isContentType, isSessionId } from '../../../src/util/patterns.js'
import type { HeaderRecord } from '../cors.js'
import { DASHED_SESSION_HEADER, SESSION_HEADER } from '../request/session-header.js'
import { createStreamBody, type StreamSource } from './stream-body.js'

const PLAIN = 'text/plain'
const JSON_TYPE = 'application/json'

/** How one reply to `POST /run` is to be sent. */
export interface RunReplyForm {
  /** The status, should the result be a failure. */
  readonly failureStatus: number
  /** Whether the client used, and so gets, the session header with dashes. */
  readonly dashed: boolean
  /** Whether the client asked for the envelope whatever the content type. */
  readonly envelopeAsked: boolean
  /** The safety headers of a raw reply. */
  readonly rawHeaders: (contentType: string) => Readonly<HeaderRecord>
  readonly corsHeaders: HeaderRecord | undefined
}

/** The reply to `POST /run`. */
export function replyToRun({ response, encoding }: ExecuteResult, form: RunReplyForm): Response {
  const headers: HeaderRecord = {
    'Content-Type': JSON_TYPE,
    'Chat-Reply': 'envelope',
    'Chat-Completed': response.completed ? 'true' : 'false',
  }
  addSessionHeaders(headers, response.session, form.dashed)
  if (form.corsHeaders !== undefined) Object.assign(headers, form.corsHeaders)
  if (!response.success) return envelope(asPlain(response), form.failureStatus, headers)
  if (!form.envelopeAsked && response.contentType && response.contentType !== PLAIN) {
    const body = rawBody(response, encoding)
    if (body !== undefined) {
      headers['Content-Type'] = withCharset(response.contentType)
      headers['Chat-Reply'] = 'raw'
      Object.assign(headers, form.rawHeaders(response.contentType))
      return new Response(body, { status: 200, headers })
    }
  }
  if (encoding === 'base64') headers['Chat-Encoding'] = 'base64'
  return envelope(response, 200, headers)
}

/** The reply to `POST /run` as server-sent events. `first` is the piece that its headers are made from. */
export function replyWithStream(source: StreamSource, form: Pick<RunReplyForm, 'dashed' | 'corsHeaders'>): Response {
  const headers: HeaderRecord = {
    // An event stream is UTF-8 always: its type needs no charset (WHATWG HTML, section 9.2.5).
    'Content-Type': 'text/event-stream',
    // A proxy that compresses would hold pieces back.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
    'X-Content-Type-Options': 'nosniff',
    'Chat-Reply': 'stream',
  }
  if (source.first.type === 'session') addSessionHeaders(headers, source.first.session, form.dashed)
  return new Response(createStreamBody(source), { status: 200, headers: { ...headers, ...form.corsHeaders } })
}

/** A reply with a JSON body. */
export function replyJson(value: unknown, status: number, corsHeaders: HeaderRecord | undefined): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'Content-Type': JSON_TYPE, ...corsHeaders } })
}

function addSessionHeaders(headers: HeaderRecord, session: string, dashed: boolean): void {
  if (!isSessionId(session)) return
  headers[SESSION_HEADER] = session
  if (dashed) headers[DASHED_SESSION_HEADER] = session
}

function envelope(response: RunResponseType, status: number, headers: HeaderRecord): Response {
  return new Response(JSON.stringify(response), { status, headers })
}

function asPlain(response: RunResponseType): RunResponseType {
  return response.contentType === PLAIN ? response : { ...response, contentType: PLAIN }
}

/** `undefined` where the type or the bytes cannot be sent; then the envelope carries what there is. */
function rawBody(
  { contentType, message }: RunResponseType,
  encoding: 'base64' | undefined,
): string | Uint8Array<ArrayBuffer> | undefined {
  if (!isContentType(contentType)) return undefined
  if (encoding !== 'base64') return message
  try {
    return Uint8Array.from(atob(message), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function withCharset(contentType: string): string {
  return /^text\//i.test(contentType) && !/;[ \t]*charset=/i.test(contentType)
    ? `${contentType}; charset=utf-8`
    : contentType
}
