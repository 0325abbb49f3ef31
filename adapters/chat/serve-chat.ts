/**
 * Handles the part of a chat request that all protocols share: CORS, the method, `authorize`, and the reply to an
 * error. The protocol decides the meaning of paths and methods.
 */
import { notAnEngine } from '../../src/util/options.js'
import type { HeaderRecord } from '../fetch/core/header-names.js'
import { createCors } from '../fetch/cors.js'
import { commonHeaders, withCommonHeaders } from '../fetch/reply/common-headers.js'
import { createDrainingBody, Refusal } from '../fetch/reply/refusal.js'
import { createTextOf, type TextOf, withText } from '../fetch/reply/refusal-text.js'
import { createRefusedReporter, createReporter, type Report } from '../fetch/reply/reporters.js'
import { type AttachmentCheck, createAttachmentCheck } from '../fetch/request/attachments.js'
import { AuthorizationRefusal, askAuthorize, isResponse, replyOfAuthorize } from '../fetch/request/authorize.js'
import { createFlowCheck } from '../fetch/request/authorize-flow.js'
import { type BodyReader, createBodyReader, parseObject } from '../fetch/request/body.js'
import { checkContentType, checkSite } from '../fetch/request/headers.js'
import { pathOf } from '../fetch/request/path-of.js'
import { requestIdOf } from '../fetch/request/request-id.js'
import { waitUntilOf } from '../fetch/request/wait-until.js'
import { type ChatSessions, MemoryChatSessions } from './chat-sessions.js'
import { type ChatEngine, ChatTurns, type TurnRequest } from './chat-turns.js'
import { currentName } from './flow-of-session.js'
import { type ChatHandlerOptions, checkChatOptions, checkFlow } from './options.js'

/** An admitted request. */
export interface ChatRequest {
  readonly request: Request
  /** The principal. */
  readonly owner: string
  /** The request's input for a turn. */
  readonly turn: TurnRequest
  /** The headers of every reply. */
  readonly headers: Readonly<HeaderRecord>
}

/** The route of a path and a method. */
export interface ChatRoute {
  readonly method: 'GET' | 'POST'
  /** Its name in the event `auth:refused`. */
  readonly name: 'run' | 'cancel' | 'session'
  answer(arrived: ChatRequest): Promise<Response>
}

/** The settings that the routes share. */
export interface ChatContext {
  readonly engine: ChatEngine
  readonly turns: ChatTurns
  readonly flow: string
  readonly heartbeatMs: number
  readonly streamDetails: boolean
  /** Reads a JSON object; throws a `Refusal`. */
  readonly readBody: (request: Request) => Promise<Readonly<Record<string, unknown>>>
  /** The attachments that pages may send; throws a `Refusal`. */
  readonly checkAttachments: AttachmentCheck
  /** The text for the user in place of a sentence of the adapter. */
  readonly textOf: TextOf
  /** Passes an error to `onError`. Never throws. */
  readonly report: Report
}

/** Serves requests. Never rejects. */
export type ChatHandler = (request: Request, runtime?: unknown) => Promise<Response>

/**
 * Makes the handler of a protocol.
 *
 * @param caller - The function that the application called, for error messages.
 * @param pathOption - The option that only this protocol has.
 * @param createRoutes - Returns the route of a path, or `undefined` if there is none.
 * @throws `InvalidInputError` if `engine` is not an engine, an option is wrong, or the flow is not registered.
 */
export function createChatHandler(
  engine: ChatEngine,
  options: ChatHandlerOptions,
  caller: string,
  pathOption: string,
  createRoutes: (context: ChatContext) => (path: string) => ChatRoute | undefined,
): ChatHandler {
  for (const method of ['stream', 'getSession', 'claimSession'] as const) {
    if (typeof engine?.[method] !== 'function') throw notAnEngine(engine, caller)
  }
  checkChatOptions(options, caller, pathOption)
  checkFlow(engine, options.flow, caller)
  const {
    authorize,
    authorizeFlow,
    maxBodyBytes = 8 * 1024 * 1024,
    bodyTimeoutMs = 30_000,
    maxJsonValues = 30_000,
  } = options
  const report = createReporter(options.onError)
  const reportRefused = createRefusedReporter(engine, report)
  const cors = options.cors === undefined ? undefined : createCors(options.cors, report)
  const mayRun = authorizeFlow && createFlowCheck(authorizeFlow, report)
  const readText = createBodyReader(maxBodyBytes, bodyTimeoutMs, maxJsonValues)
  const context = createContext(engine, options, readText, report)
  const routeOf = createRoutes(context)
  const flowName = currentName(engine, options.flow)

  async function serve({ request, route, headers, requestId, runtime }: Arrived): Promise<Response> {
    checkSite(request)
    const caller = await askAuthorize(authorize, noPrincipal, request, report)
    if (isResponse(caller)) {
      const reply = replyOfAuthorize(caller, headers, report)
      reportRefused({ requestId, route: route.name, reason: 'response', status: reply.status })
      return reply
    }
    const owner = caller.principal as string
    if (mayRun !== undefined && !(await mayRun(owner, flowName, request))) {
      reportRefused({ requestId, route: route.name, reason: 'flow', status: 404, flowName, owner })
      throw notFound()
    }
    const waitUntil = waitUntilOf(runtime) ?? options.waitUntil
    const turn: TurnRequest = {
      requestId,
      ...(caller.context === undefined ? {} : { serverContext: caller.context }),
      ...(waitUntil === undefined ? {} : { waitUntil }),
    }
    return route.answer({ request, owner, turn, headers })
  }

  async function answer(arrived: Omit<Arrived, 'route'>, route: ChatRoute | undefined): Promise<Response> {
    if (route === undefined) throw notFound()
    const { request, headers, requestId } = arrived
    if (request.method === 'OPTIONS' && cors !== undefined) {
      return withCommonHeaders(cors.preflight(request, [route.method]), commonHeaders(requestId))
    }
    if (request.method === route.method) return serve({ ...arrived, route })
    headers.Allow = cors === undefined ? route.method : `${route.method}, OPTIONS`
    throw new Refusal(`Method not allowed. Use ${route.method}.`, 405)
  }

  return async function handleChat(request, runtime) {
    const requestId = requestIdOf(request.headers)
    const headers = commonHeaders(requestId)
    let route: ChatRoute | undefined
    try {
      Object.assign(headers, cors?.headersFor(request))
      route = routeOf(pathOf(request.url))
      return await answer({ request, headers, requestId, runtime }, route)
    } catch (error) {
      if (!(error instanceof Refusal)) report(error)
      const refusal = error instanceof Refusal ? error : new Refusal('The request could not be handled.', 500)
      const shown = withText(context.textOf, refusal, { requestId, sessionId: '', flowName })
      const reply = replyToRefused(request, shown, headers, { maxBodyBytes, bodyTimeoutMs })
      if (error instanceof AuthorizationRefusal && route !== undefined) {
        reportRefused({ requestId, route: route.name, reason: error.reason, status: reply.status })
      }
      return reply
    }
  }
}

/** A request for one of the routes. */
interface Arrived {
  readonly request: Request
  readonly route: ChatRoute
  readonly headers: HeaderRecord
  readonly requestId: string
  readonly runtime: unknown
}

const noPrincipal =
  'authorize returned no principal. A chat belongs to a principal, so each caller needs one, guests too. To refuse a caller, return a Response.'

/** One sentence as plain text. The rest of a body that was not read is read and discarded. */
function replyToRefused(
  request: Request,
  { message, preciseStatus: status, unreadBody }: Refusal,
  headers: HeaderRecord,
  { maxBodyBytes, bodyTimeoutMs }: Required<Pick<ChatHandlerOptions, 'maxBodyBytes' | 'bodyTimeoutMs'>>,
): Response {
  const all: HeaderRecord = { ...headers, 'Content-Type': 'text/plain; charset=utf-8' }
  if (unreadBody === undefined) return new Response(message, { status, headers: all })
  const draining = createDrainingBody(request, unreadBody, message, maxBodyBytes, bodyTimeoutMs)
  return new Response(draining.body, { status, headers: { ...all, ...draining.headers } })
}

function notFound(): Refusal {
  return new Refusal('Not found.', 404)
}

/** The engine's default, for a wrapper that has no `limits`. */
const defaultJsonDepth = 64

function createContext(
  engine: ChatEngine,
  options: ChatHandlerOptions,
  readText: BodyReader,
  report: Report,
): ChatContext {
  const { flow, heartbeatMs = 15_000, streamDetails = false, whenEnded = 'reject' } = options
  const chats: ChatSessions = options.chats ?? new MemoryChatSessions()
  return {
    ...{ engine, flow, heartbeatMs, streamDetails, report },
    textOf: createTextOf(engine),
    checkAttachments: createAttachmentCheck(options.attachments),
    turns: new ChatTurns(engine, chats, whenEnded, report),
    async readBody(request) {
      checkContentType(request)
      return parseObject(await readText(request), engine.limits?.maxJsonDepth ?? defaultJsonDepth)
    },
  }
}
