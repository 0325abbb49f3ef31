/** `GET session`: the stored conversation of a session, for a reloaded page. */
import { FlowError, type SessionDocument } from '../../../src/index.js'
import { codeHeader, type HeaderRecord, stateHeader } from '../core/header-names.js'
import { replyJson } from '../reply/envelope.js'
import { codeOf } from '../reply/outcome.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import { readSessionHeader } from '../request/headers.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { loadSession } from './visible-session.js'

/**
 * Answers with the stored turns. A session of another owner, and one of a flow that the caller may not run, look like
 * an unknown session. Throws a `Refusal` if the request is invalid.
 */
export async function readSession(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { request, headers } = routed
  const { sessionId } = readSessionHeader(request.headers)
  let reply: Response
  try {
    const loaded = sessionId === '' ? undefined : await loadSession(context, routed, sessionId)
    reply = replyWith(sessionId, loaded?.isHidden === false ? loaded.document : undefined, headers)
  } catch (error) {
    if (!FlowError.isInstance(error)) throw error
    reply = replyToFailure(error, sessionId, context, routed)
  }
  return request.method === 'HEAD' ? new Response(null, { status: reply.status, headers: reply.headers }) : reply
}

function replyWith(
  sessionId: string,
  document: SessionDocument | undefined,
  headers: Readonly<HeaderRecord>,
): Response {
  const sessionState = document?.runStatus ?? 'none'
  const kept = new Map(document?.attachments?.map(({ id, data }) => [id, data]))
  const turns = (document?.history ?? []).map(({ turn, at, message, reply, contentType, encoding, attachments }) => ({
    ...{ turn, at, message, reply, contentType },
    ...(encoding && { encoding }),
    ...(attachments && {
      // `data` is absent in JSON if the bytes are not kept.
      attachments: attachments.map(({ attachment = '', ...one }) => ({ ...one, data: kept.get(attachment) })),
    }),
  }))
  const body = { success: true, session: sessionId, sessionState, turns }
  return replyJson(body, 200, { ...headers, [stateHeader]: sessionState })
}

function replyToFailure(
  error: FlowError,
  session: string,
  { statuses, textOf }: RouteContext,
  { requestId, headers: common }: RoutedRequest,
): Response {
  const status = statusOf(error, statuses)
  const headers: HeaderRecord = { ...common, [codeHeader]: codeOf(error), [stateHeader]: 'unknown' }
  addRetryAfter(headers, status)
  const message = textOf('The session could not be read.', error.code, { requestId, sessionId: session })
  return replyJson({ success: false, session, message }, status, headers)
}
