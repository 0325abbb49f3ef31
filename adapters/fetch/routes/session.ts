/** `GET session`: the stored conversation of a session, for a reloaded page, or what is newer than a page has. */
import { type ExecuteResult, FlowError, type SessionDocument } from '../../../src/index.js'
import { codeHeader, type HeaderRecord, stateHeader } from '../core/header-names.js'
import { replyJson } from '../reply/envelope.js'
import { isComplete } from '../reply/newer-turns.js'
import { codeOf } from '../reply/outcome.js'
import { Refusal } from '../reply/refusal.js'
import { sentParts } from '../reply/sent-parts.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import { readSessionHeader } from '../request/headers.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { loadSession, loadSummary } from './visible-session.js'

/** The part of a reply that depends on the session. */
type Conversation = Pick<ExecuteResult, 'sessionState'> & {
  readonly turns: readonly object[]
  readonly complete?: boolean
}

/**
 * Answers with the stored turns. A session of another owner, and one of a flow that the caller may not run, look like
 * an unknown session. Throws a `Refusal` if the request is invalid.
 */
export async function readSession(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { request, headers } = routed
  const { sessionId } = readSessionHeader(request.headers)
  const after = readAfter(request.url)
  let reply: Response
  try {
    const found = sessionId === '' ? undefined : await findConversation(context, routed, sessionId, after)
    const { sessionState, ...shown } = found ?? { sessionState: 'none', turns: [] }
    const body = { success: true, session: sessionId, sessionState, ...shown }
    reply = replyJson(body, 200, { ...headers, [stateHeader]: sessionState })
  } catch (error) {
    if (!FlowError.isInstance(error)) throw error
    reply = replyToFailure(error, sessionId, context, routed)
  }
  return request.method === 'HEAD' ? new Response(null, { status: reply.status, headers: reply.headers }) : reply
}

/** The number of the last turn that the page has; `undefined` if it asks for all. */
function readAfter(url: string): number | undefined {
  const [after, ...others] = url.includes('?') ? new URL(url).searchParams.getAll('after') : []
  if (after === undefined) return undefined
  if (others.length === 0 && /^\d{1,15}$/.test(after)) return Number(after)
  throw new Refusal('The parameter after must be the number of a turn, sent once.')
}

/** What the caller may see; `undefined` if the session must look unknown. */
async function findConversation(
  context: RouteContext,
  routed: RoutedRequest,
  sessionId: string,
  after: number | undefined,
): Promise<Conversation | undefined> {
  // Most pages that ask for news have all of it.
  if (after !== undefined && context.engine.getSummary !== undefined) {
    const summary = await loadSummary(context, routed, sessionId)
    if (summary === undefined) return undefined
    const { runStatus: sessionState, turns } = summary
    if (turns <= after) return { sessionState, turns: [], complete: turns === after }
  }
  const loaded = await loadSession(context, routed, sessionId)
  return loaded?.isHidden === false ? conversationIn(loaded.document, after) : undefined
}

function conversationIn(document: SessionDocument, after: number | undefined): Conversation {
  const { runStatus: sessionState } = document
  if (after === undefined) return { sessionState, turns: turnsIn(document, document.history) }
  const newer = document.history.filter(({ turn }) => turn > after)
  return { sessionState, turns: turnsIn(document, newer), complete: isComplete(document, after) }
}

function turnsIn({ attachments: files }: SessionDocument, history: SessionDocument['history']): object[] {
  const kept = new Map(files?.map(({ id, data }) => [id, data]))
  return history.map(({ turn, at, message, reply, contentType, encoding, parts, event, attachments }) => ({
    ...{ turn, at, message, reply, contentType },
    ...(encoding && { encoding }),
    ...(parts && { parts: sentParts({ parts, turn }) }),
    ...(event && { event: shownEvent(event) }),
    ...(attachments && {
      // `data` is absent in JSON if the bytes are not kept.
      attachments: attachments.map(({ attachment = '', ...one }) => ({ ...one, data: kept.get(attachment) })),
    }),
  }))
}

/** Without the ID of its sender. */
function shownEvent({ name, by, payload }: NonNullable<SessionDocument['history'][number]['event']>): object {
  return { name, by, payload }
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
