/**
 * The reply to a turn: its status, its headers, and whether it is the envelope or raw (`raw.ts`). The engine decides
 * what the result contains. No value from a flow may break a reply, so each string is checked before it becomes a
 * header.
 */
import type { ExecuteResult, RunResponseType } from '../../../src/index.js'
import { isSessionId } from '../../../src/util/patterns.js'
import {
  completedHeader,
  dashedSessionHeader,
  encodingHeader,
  type HeaderRecord,
  replyHeader,
  sessionHeader,
} from '../core/header-names.js'
import { safeHeaders } from './common-headers.js'
import { addOutcomeHeaders } from './outcome.js'
import { rawBody, withCharset } from './raw.js'
import { sentParts } from './sent-parts.js'
import { addRetryAfter } from './statuses.js'

const plainType = 'text/plain'
const jsonType = 'application/json'

/** How one reply to `POST /run` is to be sent. */
export interface RunReplyForm {
  /** The status if the result is a failure. */
  readonly failureStatus: number
  /** Whether the client used the session header with dashes, and so gets it back. */
  readonly dashed: boolean
  /** Whether the client asked for the envelope, whatever the content type is. */
  readonly envelopeAsked: boolean
  /** The safety headers of a raw reply. */
  readonly rawHeaders: (contentType: string) => Readonly<HeaderRecord>
  /** The headers of every reply to the request. */
  readonly headers: Readonly<HeaderRecord>
}

/** The reply to `POST /run`. */
export function replyToRun(result: ExecuteResult, form: RunReplyForm): Response {
  const { response, encoding } = result
  const headers: HeaderRecord = {
    ...form.headers,
    'Content-Type': jsonType,
    [replyHeader]: 'envelope',
    [completedHeader]: response.completed ? 'true' : 'false',
  }
  addSessionHeaders(headers, response.session, form.dashed)
  addOutcomeHeaders(headers, result)
  if (!response.success) {
    addRetryAfter(headers, form.failureStatus)
    return envelope(asPlain(response), form.failureStatus, headers)
  }
  if (!form.envelopeAsked && response.contentType && response.contentType !== plainType) {
    const body = rawBody(response, encoding)
    if (body !== undefined) {
      headers['Content-Type'] = withCharset(response.contentType)
      headers[replyHeader] = 'raw'
      // The application may have removed these.
      for (const name of Object.keys(safeHeaders)) delete headers[name]
      Object.assign(headers, form.rawHeaders(response.contentType))
      return new Response(body, { status: 200, headers })
    }
  }
  if (encoding === 'base64') headers[encodingHeader] = 'base64'
  // The contract's envelope has five fields.
  return envelope(form.envelopeAsked ? { ...response, parts: sentParts(result) } : response, 200, headers)
}

/** A reply with a JSON body. */
export function replyJson(value: unknown, status: number, headers: Readonly<HeaderRecord>): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'Content-Type': jsonType, ...headers } })
}

/**
 * Adds the session header, in each spelling that the client reads. Leaves out an ID that is not a valid header value.
 */
export function addSessionHeaders(headers: HeaderRecord, session: string, dashed: boolean): void {
  if (!isSessionId(session)) return
  headers[sessionHeader] = session
  if (dashed) headers[dashedSessionHeader] = session
}

function envelope(response: object, status: number, headers: HeaderRecord): Response {
  return new Response(JSON.stringify(response), { status, headers })
}

function asPlain(response: RunResponseType): RunResponseType {
  return response.contentType === plainType ? response : { ...response, contentType: plainType }
}
