/**
 * What happens to every request, whatever its route: its ID, CORS, the method, `authorize`, and an error that becomes a reply. The
 * routes are in `routes/`. The caller decides which path means which route: the Fetch handler by `basePath`, the Hono app by
 * where it is mounted.
 */
import { invalidInput } from '../../src/util/options.js'
import { createCors } from './cors.js'
import { type HeaderRecord, stateHeader } from './header-names.js'
import { checkOptions, type FlowRoutesOptions } from './options.js'
import { commonHeaders, withCommonHeaders } from './reply/common-headers.js'
import { createRawHeaders } from './reply/raw.js'
import { createRefusalReply, Refusal } from './reply/refusal.js'
import { AuthorizationRefusal, askAuthorize, isResponse } from './request/authorize.js'
import { createFlowCheck } from './request/authorize-flow.js'
import { createBodyReader } from './request/body.js'
import { stateOfRequest } from './request/headers.js'
import { pathOf, shownPath } from './request/path-of.js'
import { requestIdOf } from './request/request-id.js'
import { cancelTurn } from './routes/cancel.js'
import { endSession } from './routes/end.js'
import { listFlows } from './routes/flows.js'
import { answerHealth } from './routes/health.js'
import type { RouteContext, RoutedRequest } from './routes/route.js'
import { runTurn } from './routes/run.js'
import type { ServedEngine } from './served-engine.js'

/** The last segment of a path that is served. */
export type Route = 'run' | 'flows' | 'end' | 'cancel' | 'health'

/** No route: any other path than theirs. `basePath` is where they are. */
export interface NoRoute {
  readonly basePath: string
}

/**
 * Answers a request for one of the routes, or for none. Never rejects.
 *
 * @param runtime - What the runtime passes along with a request. Its `waitUntil` is used, if it has one.
 */
export type RouteHandler = (request: Request, found: Route | NoRoute, runtime?: unknown) => Promise<Response>

interface RouteDefinition {
  readonly methods: readonly string[]
  readonly answer: (context: RouteContext, routed: RoutedRequest) => Response | Promise<Response>
}

const routes: Readonly<Record<Route, RouteDefinition>> = {
  run: { methods: ['POST'], answer: runTurn },
  flows: { methods: ['GET', 'HEAD'], answer: listFlows },
  end: { methods: ['POST'], answer: endSession },
  cancel: { methods: ['POST'], answer: cancelTurn },
  health: { methods: ['GET', 'HEAD'], answer: answerHealth },
}

const servedRoutes = 'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.'
const routesWithHealth =
  'Not found. The routes are POST run, GET flows, POST end, POST cancel and GET health, below the base path.'

/** @throws `InvalidInputError` for what is not an engine, and for a wrong option. `caller` is the function the user called. */
export function createRouteHandler(
  engine: ServedEngine,
  options: FlowRoutesOptions,
  caller: string,
  ownOptions: object = {},
): RouteHandler {
  if (typeof engine?.execute !== 'function') throw notAnEngine(engine, caller)
  checkOptions(options, caller, ownOptions)
  checkHealth(options, engine, caller)
  const { authorize, requirePrincipal = false } = options
  const report = createReporter(options.onError)
  const cors = options.cors === undefined ? undefined : createCors(options.cors, report)
  const { statuses = 'contract', maxBodyBytes = 1024 * 1024, bodyTimeoutMs = 30_000 } = options
  const readBody = createBodyReader(maxBodyBytes, bodyTimeoutMs)
  const context = createContext({ engine, statuses, readBody, report }, options)
  const routesSentence = options.health === true ? routesWithHealth : servedRoutes
  const replyToRefused = createRefusalReply(statuses, maxBodyBytes, bodyTimeoutMs)

  async function serve(
    { answer }: RouteDefinition,
    route: Route,
    { request, requestId, headers }: Arrived,
    runtime: unknown,
  ): Promise<Response> {
    const waitUntil = waitUntilOf(runtime) ?? options.waitUntil
    if (route === 'health') return answer(context, { request, caller: undefined, requestId, headers, waitUntil })
    const who = authorize === undefined ? undefined : await askAuthorize(authorize, requirePrincipal, request, report)
    if (isResponse(who)) {
      const reply = replyOfAuthorize(who, headers, report)
      context.reportRefused({ requestId, route, reason: 'response', status: reply.status })
      return reply
    }
    return answer(context, { request, caller: who, requestId, headers, waitUntil })
  }

  function replyToError({ request, requestId, headers }: Arrived, route: Route | undefined, error: unknown): Response {
    const extra = route === 'run' ? { ...headers, [stateHeader]: stateOfRequest(request.headers) } : headers
    if (!(error instanceof Refusal)) report(error)
    const refusal = error instanceof Refusal ? error : new Refusal('The request could not be handled.', 500)
    const reply = replyToRefused(request, refusal, extra)
    if (error instanceof AuthorizationRefusal && route !== undefined && route !== 'health') {
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
      if (typeof found !== 'string') throw notFound(routesSentence, request.url, found)
      const definition = routes[found]
      const { methods } = definition
      if (request.method === 'OPTIONS' && cors !== undefined) {
        return withCommonHeaders(cors.preflight(request, methods), commonHeaders(requestId))
      }
      if (!methods.includes(request.method)) throw wrongMethod(methods, arrived.headers, cors !== undefined)
      return await serve(definition, found, arrived, runtime)
    } catch (error) {
      return replyToError(arrived, route, error)
    }
  }
}

function checkHealth({ health }: FlowRoutesOptions, { isReady }: ServedEngine, caller: string): void {
  if (health !== true || typeof isReady === 'function') return
  throw invalidInput(`${caller}: health needs an engine with the method isReady.`)
}

function notFound(sentence: string, url: string, { basePath }: NoRoute): Refusal {
  const paths = `The path is '${shownPath(pathOf(url))}', and the base path is '${basePath}'.`
  return new Refusal(`${sentence} ${paths}`, 404)
}

/** @param headers - get `Allow` */
function wrongMethod(methods: readonly string[], headers: HeaderRecord, hasCors: boolean): Refusal {
  headers.Allow = (hasCors ? [...methods, 'OPTIONS'] : methods).join(', ')
  return new Refusal(`Method not allowed. Use ${methods.join(' or ')}.`, 405)
}

function notAnEngine(value: unknown, caller: string): Error {
  const isPromise = typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
  const got = isPromise ? '; got a promise: await FlowEngine.create()' : ''
  return invalidInput(`${caller}: the first argument must be a FlowEngine${got}.`)
}

/** The reply of `authorize`. One that cannot be sent, as `Response.error()`, is an error of `authorize`. */
function replyOfAuthorize(response: Response, headers: HeaderRecord, report: (error: unknown) => void): Response {
  try {
    return withCommonHeaders(response, headers)
  } catch (error) {
    report(error)
    throw new AuthorizationRefusal('error')
  }
}

/** A request, and the headers that every reply to it has. */
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
    rawHeaders: createRawHeaders(options.rawHeaders),
    reportRefused(refusal) {
      try {
        engine.reportRefused?.(refusal)
      } catch (error) {
        report(error)
      }
    },
  }
}

/** The `waitUntil` of what a runtime passes along: Bun passes its server, Deno the address, workerd the environment. */
function waitUntilOf(runtime: unknown): FlowRoutesOptions['waitUntil'] {
  if (typeof runtime !== 'object' || runtime === null) return undefined
  const context = runtime as { waitUntil?: unknown }
  if (typeof context.waitUntil !== 'function') return undefined
  // Called as a method: runtimes refuse it without its `this`.
  return (work) => (context as Required<Pick<FlowRoutesOptions, 'waitUntil'>>).waitUntil(work)
}

function createReporter(onError: FlowRoutesOptions['onError']): (error: unknown) => void {
  return function report(error) {
    try {
      if (onError === undefined) console.error(error)
      else onError(error)
    } catch {
      // A reporter that fails must not fail the request as well.
    }
  }
}
