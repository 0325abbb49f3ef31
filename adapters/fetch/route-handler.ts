/**
 * Handles the common part of every request: its ID, CORS, the method, `authorize`, and the reply to an error. `routes/`
 * has the routes. The caller maps paths to routes: the Fetch handler by `basePath`, the Hono app by its mount point.
 */
import { invalidInput, notAnEngine } from '../../src/util/options.js'
import { checkOptions } from './check-options.js'
import { type HeaderRecord, stateHeader } from './core/header-names.js'
import type { ServedEngine } from './core/served-engine.js'
import { createCors } from './cors.js'
import { warnOfOpenHandler } from './open-handler.js'
import type { FlowRoutesOptions } from './options.js'
import { commonHeaders, withCommonHeaders } from './reply/common-headers.js'
import { createRawHeaders } from './reply/raw.js'
import { createRefusalReply, Refusal } from './reply/refusal.js'
import { createTextOf, withText } from './reply/refusal-text.js'
import { createRefusedReporter, createReporter } from './reply/reporters.js'
import { createAttachmentCheck } from './request/attachments.js'
import { AuthorizationRefusal, askAuthorize, isResponse, replyOfAuthorize } from './request/authorize.js'
import { createFlowCheck } from './request/authorize-flow.js'
import { createBodyReader } from './request/body.js'
import { checkSite, sessionOfRefused } from './request/headers.js'
import { pathOf, shownPath } from './request/path-of.js'
import { requestIdOf } from './request/request-id.js'
import { waitUntilOf } from './request/wait-until.js'
import { cancelTurn } from './routes/cancel.js'
import { endSession } from './routes/end.js'
import { listFlows } from './routes/flows.js'
import { answerHealth } from './routes/health.js'
import { sendDocument } from './routes/openapi.js'
import type { RouteContext, RoutedRequest } from './routes/route.js'
import { runTurn } from './routes/run.js'
import { type Route, routeMethods, servedRoutes } from './routes/served-routes.js'
import { readSession } from './routes/session.js'
import { takeTicket } from './routes/ticket.js'

/** No route: any other path. `basePath` is the base path of the routes. */
export interface NoRoute {
  readonly basePath: string
}

/**
 * Answers a request for one of the routes, or for none. Never rejects.
 *
 * @param runtime - the runtime's second argument; its `waitUntil` is used if it has one
 */
export type RouteHandler = (request: Request, found: Route | NoRoute, runtime?: unknown) => Promise<Response>

type Answer = (context: RouteContext, routed: RoutedRequest) => Response | Promise<Response>

const answers: Readonly<Record<Route, Answer>> = {
  run: runTurn,
  flows: listFlows,
  end: endSession,
  cancel: cancelTurn,
  session: readSession,
  ticket: takeTicket,
  health: answerHealth,
  'openapi.json': sendDocument,
}

/**
 * @throws `InvalidInputError` if `engine` is not an engine, or an option is wrong. `caller` is the function the user
 * called.
 */
export function createRouteHandler(
  engine: ServedEngine,
  options: FlowRoutesOptions,
  caller: string,
  ownOptions: object = {},
): RouteHandler {
  if (typeof engine?.execute !== 'function') throw notAnEngine(engine, caller)
  checkOptions(options, caller, ownOptions)
  checkMethods(options, engine, caller)
  if (options.authorize === undefined) warnOfOpenHandler(engine, caller)
  const authorize = options.authorize === 'none' ? undefined : options.authorize
  const missingPrincipal = options.requirePrincipal === true ? noPrincipal : undefined
  const report = createReporter(options.onError)
  const cors = options.cors === undefined ? undefined : createCors(options.cors, report)
  const { statuses = 'contract', maxBodyBytes = 1024 * 1024, bodyTimeoutMs = 30_000, maxJsonValues = 30_000 } = options
  const readBody = createBodyReader(maxBodyBytes, bodyTimeoutMs, maxJsonValues)
  const context = createContext({ engine, statuses, readBody, report }, options)
  const replyToRefused = createRefusalReply(statuses, maxBodyBytes, bodyTimeoutMs)

  function serve(route: Route, arrived: Arrived, runtime: unknown): Response | Promise<Response> {
    const waitUntil = waitUntilOf(runtime) ?? options.waitUntil
    if (authorize === undefined || isOpen(route)) {
      return answers[route](context, { ...arrived, caller: undefined, waitUntil })
    }
    return askAuthorize(authorize, missingPrincipal, arrived.request, report).then((who) => {
      if (!isResponse(who)) return answers[route](context, { ...arrived, caller: who, waitUntil })
      const reply = replyOfAuthorize(who, arrived.headers, report)
      context.reportRefused({ requestId: arrived.requestId, route, reason: 'response', status: reply.status })
      return reply
    })
  }

  function replyToError({ request, requestId, headers }: Arrived, route: Route | undefined, error: unknown): Response {
    const sessionId = sessionOfRefused(request.headers)
    const extra = route === 'run' ? { ...headers, [stateHeader]: sessionId === '' ? 'none' : 'unknown' } : headers
    if (!(error instanceof Refusal)) report(error)
    const refusal = error instanceof Refusal ? error : new Refusal('The request could not be handled.', 500)
    const reply = replyToRefused(request, withText(context.textOf, refusal, { requestId, sessionId }), extra)
    if (error instanceof AuthorizationRefusal && route !== undefined && !isOpen(route)) {
      context.reportRefused({ requestId, route, reason: error.reason, status: reply.status })
    }
    return reply
  }

  return async function handleRoute(request, found, runtime) {
    const route = typeof found === 'string' ? found : undefined
    const requestId = requestIdOf(request.headers)
    const arrived = { request, requestId, headers: commonHeaders(requestId) }
    try {
      Object.assign(arrived.headers, cors?.headersFor(request))
      if (typeof found !== 'string') throw notFound(options, request.url, found)
      const methods = routeMethods[found]
      if (request.method === 'OPTIONS' && cors !== undefined) {
        return withCommonHeaders(cors.preflight(request, methods), commonHeaders(requestId))
      }
      if (!methods.includes(request.method)) throw wrongMethod(methods, arrived.headers, cors !== undefined)
      checkSite(request)
      return await serve(found, arrived, runtime)
    } catch (error) {
      return replyToError(arrived, route, error)
    }
  }
}

/** Probes have no credentials, and a ticket is one. */
function isOpen(route: Route): route is 'health' | 'ticket' {
  return route === 'health' || route === 'ticket'
}

const noPrincipal =
  'authorize returned no principal, which requirePrincipal asks for. To refuse a caller, return a Response.'

/** An engine wrapper may lack a method that an optional route needs. */
function checkMethods(options: FlowRoutesOptions, engine: ServedEngine, caller: string): void {
  for (const [option, method] of [
    ['health', 'isReady'],
    ['session', 'getSession'],
    ['tickets', 'sendEvent'],
    ['tickets', 'getSummary'],
    ['authorizeFlow', 'getSession'],
  ] as const) {
    if (!options[option] || typeof engine[method] === 'function') continue
    throw invalidInput(`${caller}: ${option} needs an engine with the method ${method}.`)
  }
}

function notFound(options: FlowRoutesOptions, url: string, { basePath }: NoRoute): Refusal {
  const served = servedRoutes(options).map((route) => `${routeMethods[route][0]} ${route}`)
  const list = `${served.slice(0, -1).join(', ')} and ${served.at(-1)}`
  return new Refusal(
    `Not found. The routes are ${list}, below the base path. The path is '${shownPath(pathOf(url))}', and the base path is '${basePath}'.`,
    404,
  )
}

/** @param headers - get `Allow` */
function wrongMethod(methods: readonly string[], headers: HeaderRecord, hasCors: boolean): Refusal {
  headers.Allow = (hasCors ? [...methods, 'OPTIONS'] : methods).join(', ')
  return new Refusal(`Method not allowed. Use ${methods.join(' or ')}.`, 405)
}

/** A request, with the headers of every reply to it. */
interface Arrived {
  readonly request: Request
  readonly requestId: string
  readonly headers: HeaderRecord
}

function createContext(
  context: Pick<RouteContext, 'engine' | 'statuses' | 'readBody' | 'report'>,
  options: FlowRoutesOptions,
): RouteContext {
  const { heartbeatMs = 15_000, stream: streams = true, streamDetails = false, onDisconnect, authorizeFlow } = options
  const { engine, report } = context
  return {
    ...context,
    ...{ heartbeatMs, streams, streamDetails, onDisconnect },
    mayRun: authorizeFlow && createFlowCheck(authorizeFlow, report),
    checkAttachments: createAttachmentCheck(options.attachments),
    textOf: createTextOf(engine),
    rawHeaders: createRawHeaders(options.rawHeaders),
    openApi: options.openApi,
    tickets: options.tickets,
    reportRefused: createRefusedReporter(engine, report),
  }
}
