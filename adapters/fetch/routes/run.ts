/** `POST run`: turns the headers and body of a request into one turn of the engine, and the result into a reply. */
import type { ExecuteResult, FlowRunInput } from '../../../src/index.js'
import { keyHeader, lastEventHeader } from '../core/header-names.js'
import { replyToRun } from '../reply/envelope.js'
import { statusOf } from '../reply/statuses.js'
import { replyWithStream } from '../reply/stream.js'
import { type AuthorizedCaller, refuseContext } from '../request/authorize.js'
import { registeredName } from '../request/authorize-flow.js'
import { checkUnread, type RunBody, readRunBody } from '../request/body.js'
import { asksForStream, checkContentType, type NamedSession, readSessionHeader } from '../request/headers.js'
import { keepAlive } from '../request/wait-until.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { mayRunFlow } from './visible-session.js'

/** Runs a turn. Throws a `Refusal` if the request is invalid. */
export async function runTurn(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { engine, mayRun } = context
  const { request, caller, requestId } = routed
  const session = readSessionHeader(request.headers)
  checkContentType(request)
  const text = await context.readBody(request)
  checkUnread(text, request.headers)
  const sent = readRunBody(text, engine.limits.maxJsonDepth)
  const body = { ...sent, attachments: sent.attachments && context.checkAttachments(sent.attachments) }
  const flowName = mayRun && registeredName(engine, body.flowName)
  const isAllowed =
    mayRun === undefined || (flowName !== undefined && (await mayRun(caller?.principal, flowName, request)))
  const reply = await answer(context, routed, session, body, !isAllowed)
  if (flowName !== undefined && !isAllowed) {
    context.reportRefused({
      ...{ requestId, route: 'run', reason: 'flow', status: reply.status, flowName },
      ...(caller?.principal === undefined ? {} : { owner: caller.principal }),
    })
  }
  return reply
}

/** @param hideFlow - whether the flow must look unregistered to this caller */
async function answer(
  context: RouteContext,
  routed: RoutedRequest,
  { sessionId, dashed }: NamedSession,
  body: RunBody,
  hideFlow: boolean,
): Promise<Response> {
  const { engine, heartbeatMs, streams, streamDetails, report } = context
  const { request, headers } = routed
  const key = request.headers.get(keyHeader) ?? undefined
  const onDisconnect = context.onDisconnect ?? (key === undefined ? 'cancel' : 'finish')
  const input = inputOf(routed, sessionId, body, key, onDisconnect)
  if (hideFlow) input.hideFlow = true
  if (!streams || engine.stream === undefined || !asksForStream(request.headers)) {
    const turn = engine.execute(input)
    // For streams the engine does this.
    if (onDisconnect === 'finish') void keepAlive(routed.waitUntil, turn, report)
    return replyTo(await turn, dashed, context, routed)
  }
  const lastEventId = request.headers.get(lastEventHeader)
  const events = engine.stream(input, lastEventId === null ? { onDisconnect } : { onDisconnect, lastEventId })
  const { value: first } = await events.next()
  if (first === undefined) throw new Error('The stream of a turn ended before it began.')
  // Nothing has been sent yet, so the failure gets a plain reply with a status.
  if (first.type === 'error') return replyTo(first, dashed, context, routed)
  return replyWithStream({ first, events, heartbeatMs, details: streamDetails, report }, { dashed, headers })
}

type Input = { -readonly [Key in keyof FlowRunInput]: FlowRunInput[Key] }

/** A field that was not sent is absent from the input, not `undefined`. */
function inputOf(
  { request, caller, requestId, waitUntil }: RoutedRequest,
  sessionId: string,
  { flowName, message, config, event, choice, attachments }: RunBody,
  idempotencyKey: string | undefined,
  onDisconnect: 'cancel' | 'finish',
): Input {
  const { principal, context }: AuthorizedCaller = caller ?? {}
  const input: Input = {
    flowName,
    userMessage: message,
    requestId,
  }
  // Some runtimes give a request no signal. Then the handler does not notice a client that goes away.
  if (request.signal && onDisconnect === 'cancel') input.signal = request.signal
  if (idempotencyKey !== undefined) input.idempotencyKey = idempotencyKey
  if (sessionId !== '') input.sessionId = sessionId
  if (config !== undefined) input.config = config
  if (event !== undefined) input.event = event
  if (choice !== undefined) input.choice = choice
  if (attachments !== undefined) input.attachments = attachments
  if (principal !== undefined) input.owner = principal
  if (context !== undefined) input.serverContext = context
  if (waitUntil !== undefined) input.waitUntil = waitUntil
  return input
}

async function replyTo(
  result: ExecuteResult,
  dashed: boolean,
  context: RouteContext,
  routed: RoutedRequest,
): Promise<Response> {
  const { statuses, rawHeaders, report } = context
  const { request, caller, headers } = routed
  if (caller?.context !== undefined) refuseContext(result.error, report)
  const shown = result.error === undefined ? result : await withoutHiddenFlow(result, context, routed)
  return replyToRun(shown, {
    failureStatus: result.response.success ? 200 : statusOf(result.error, statuses),
    dashed,
    envelopeAsked: asksForEnvelope(request.url),
    rawHeaders,
    headers,
  })
}

/** The failure of a turn in a session of another flow does not name that flow if the caller may not run it. */
async function withoutHiddenFlow(
  result: ExecuteResult,
  context: RouteContext,
  routed: RoutedRequest,
): Promise<ExecuteResult> {
  const { error, response } = result
  if (error?.code !== 'SESSION_FLOW_MISMATCH' || error.boundFlow === undefined) return result
  if (await mayRunFlow(context, routed, error.boundFlow)) return result
  const { session: sessionId } = response
  const { requestId } = routed
  const sentence = `Session '${sessionId}' belongs to another flow.`
  const message = context.textOf(sentence, error.code, { requestId, sessionId, flowName: error.requestedFlow ?? '' })
  return { ...result, response: { ...response, message } }
}

function asksForEnvelope(url: string): boolean {
  // Most URLs have no query, and parsing one is not cheap.
  return url.includes('?') && new URL(url).searchParams.get('envelope') === '1'
}
