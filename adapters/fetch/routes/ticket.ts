/** `POST ticket`: has a session take the event of a ticket. The reply says whether it did, and nothing of the session. */
import { type AnyFlowError, FlowError, type SendEventInput } from '../../../src/index.js'
import { codeHeader, type HeaderRecord } from '../core/header-names.js'
import { replyJson } from '../reply/envelope.js'
import { codeOf } from '../reply/outcome.js'
import { Refusal } from '../reply/refusal.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import { checkUnread, parseObject } from '../request/body.js'
import { checkContentType } from '../request/headers.js'
import { keepAlive } from '../request/wait-until.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Takes a ticket. Throws a `Refusal` if the request is invalid. */
export async function takeTicket(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { request, headers: common } = routed
  checkContentType(request)
  const text = await context.readBody(request)
  checkUnread(text, request.headers)
  const { ticket, payload } = parseObject(text, context.engine.limits.maxJsonDepth)
  if (typeof ticket !== 'string') throw new Refusal("The field 'ticket' is required and must be a string.")
  try {
    const input = await openTicket(context, ticket, payload)
    const failure = await send(context, routed, input)
    if (failure === undefined) return replyJson({ success: true, taken: true }, 200, common)
    return replyToFailure(failure.error, failure.status, common)
  } catch (error) {
    if (!FlowError.isInstance(error)) throw error
    return replyToFailure(error, statusOf(error, 'precise'), common)
  }
}

type Opened = Parameters<NonNullable<RouteContext['tickets']>['open']>

function openTicket({ tickets }: RouteContext, ...ticket: Opened): Promise<SendEventInput> {
  // The route is served only with the option.
  return (tickets as NonNullable<typeof tickets>).open(...ticket)
}

interface Failure {
  readonly error: AnyFlowError | undefined
  readonly status: number
}

/** Sends the event of a ticket. Returns why it was not taken. */
async function send(
  context: RouteContext,
  { requestId, waitUntil }: RoutedRequest,
  input: SendEventInput,
): Promise<Failure | undefined> {
  const { engine, report } = context
  const turn = (engine as Required<typeof engine>).sendEvent({ ...input, requestId })
  void keepAlive(waitUntil, turn, report)
  const { error, response, sessionState } = await turn
  if (response.success) return undefined
  const isEarly = error?.code === 'EVENT_NOT_TAKEN' && sessionState === 'running' && (await isAhead(context, input))
  return { error, status: isEarly ? 503 : statusOf(error, 'precise') }
}

/** Whether the entry of a ticket is not stored yet: the mail was faster than the commit of the turn that sent it. */
async function isAhead({ engine }: RouteContext, { sessionId, owner, only }: SendEventInput): Promise<boolean> {
  const summary = await engine.getSummary?.(sessionId, owner === undefined ? {} : { owner })
  return summary !== undefined && Number.parseInt(only?.entry ?? '', 10) > summary.turns
}

function replyToFailure(error: FlowError | undefined, status: number, common: Readonly<HeaderRecord>): Response {
  const headers: HeaderRecord = { ...common, [codeHeader]: codeOf(error) }
  addRetryAfter(headers, status)
  return replyJson({ success: false, taken: false }, status, headers)
}
