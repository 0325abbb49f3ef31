/**
 * What happens to every request, whatever its route: CORS, the method, `authorize`, and an error that becomes a reply. The
 * routes are in `routes/`. The caller decides which path means which route: the Fetch handler by `basePath`, the Hono app by
 * where it is mounted.
 */
import { invalidInput } from '../../src/util/options.js'
import { addCorsHeaders, createCors } from './cors.js'
import { type HeaderRecord, stateHeader } from './header-names.js'
import { checkOptions, type FlowRoutesOptions } from './options.js'
import { createRawHeaders } from './reply/raw.js'
import { createRefusalReply, Refusal } from './reply/refusal.js'
import { askAuthorize, isResponse } from './request/authorize.js'
import { createBodyReader } from './request/body.js'
import { stateOfRequest } from './request/headers.js'
import { cancelTurn } from './routes/cancel.js'
import { endSession } from './routes/end.js'
import { listFlows } from './routes/flows.js'
import type { RouteContext, RoutedRequest } from './routes/route.js'
import { runTurn } from './routes/run.js'
import type { ServedEngine } from './served-engine.js'

/** The last segment of a path that is served. */
export type Route = 'run' | 'flows' | 'end' | 'cancel'

/**
 * Answers a request for one of the routes; `undefined` is any other path. Never rejects.
 *
 * @param runtime - What the runtime passes along with a request. Its `waitUntil` is used, if it has one.
 */
export type RouteHandler = (request: Request, route: Route | undefined, runtime?: unknown) => Promise<Response>

interface RouteDefinition {
  readonly methods: readonly string[]
  readonly answer: (context: RouteContext, routed: RoutedRequest) => Response | Promise<Response>
}

const routes: Readonly<Record<Route, RouteDefinition>> = {
  run: { methods: ['POST'], answer: runTurn },
  flows: { methods: ['GET', 'HEAD'], answer: listFlows },
  end: { methods: ['POST'], answer: endSession },
  cancel: { methods: ['POST'], answer: cancelTurn },
}

/** @throws `InvalidInputError` for what is not an engine, and for a wrong option. `caller` is the function the user called. */
export function createRouteHandler(
  engine: ServedEngine,
  options: FlowRoutesOptions,
  caller: string,
  ownOptions: object = {},
): RouteHandler {
  if (typeof engine?.execute !== 'function') throw invalidInput(`${caller}: the first argument must be a FlowEngine.`)
  checkOptions(options, caller, ownOptions)
  const { authorize, requirePrincipal = false } = options
  const { maxBodyBytes = 1024 * 1024, statuses = 'contract', heartbeatMs = 15_000, onDisconnect } = options
  const report = createReporter(options.onError)
  const cors = options.cors === undefined ? undefined : createCors(options.cors, report)
  const readBody = createBodyReader(maxBodyBytes)
  const rawHeaders = createRawHeaders(options.rawHeaders)
  const replyToRefused = createRefusalReply(statuses, maxBodyBytes)
  const context: RouteContext = { engine, statuses, heartbeatMs, onDisconnect, readBody, rawHeaders, report }

  async function serve(
    answer: RouteDefinition['answer'],
    request: Request,
    corsHeaders: HeaderRecord | undefined,
    runtime: unknown,
  ): Promise<Response> {
    const who = authorize === undefined ? undefined : await askAuthorize(authorize, requirePrincipal, request, report)
    if (isResponse(who)) return addCorsHeaders(who, corsHeaders)
    const waitUntil = waitUntilOf(runtime) ?? options.waitUntil
    return answer(context, { request, caller: who, corsHeaders, waitUntil })
  }

  function replyToError(
    request: Request,
    route: Route | undefined,
    error: unknown,
    extraHeaders: HeaderRecord | undefined,
  ): Response {
    const headers = route === 'run' ? { ...extraHeaders, [stateHeader]: stateOfRequest(request.headers) } : extraHeaders
    if (error instanceof Refusal) return replyToRefused(request, error, headers)
    report(error)
    return replyToRefused(request, new Refusal('The request could not be handled.', 500), headers)
  }

  return async function handleRoute(request, route, runtime) {
    let extraHeaders: HeaderRecord | undefined
    try {
      const corsHeaders = cors?.headersFor(request)
      extraHeaders = corsHeaders
      if (route === undefined) {
        throw new Refusal(
          'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.',
          404,
        )
      }
      const { methods, answer } = routes[route]
      if (request.method === 'OPTIONS' && cors !== undefined) return cors.preflight(request, methods)
      if (!methods.includes(request.method)) {
        const allowed = cors === undefined ? methods : [...methods, 'OPTIONS']
        extraHeaders = { ...corsHeaders, Allow: allowed.join(', ') }
        throw new Refusal(`Method not allowed. Use ${methods.join(' or ')}.`, 405)
      }
      return await serve(answer, request, corsHeaders, runtime)
    } catch (error) {
      return replyToError(request, route, error, extraHeaders)
    }
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
