// What the three routes do with a request, from its method to its reply. Which path means which route is decided by the
// caller: the Fetch handler by `basePath`, the Hono app by where it is mounted.
import type { ExecuteResult, FlowRunInput } from '../../src/index.js'
import { addCorsHeaders, createCors, type HeaderRecord } from './cors.js'
import { checkOptions, type FlowRoutesOptions } from './options.js'
import { createRawHeaders } from './reply/raw-headers.js'
import { Refusal } from './reply/refusal.js'
import { createRefusalReply } from './reply/refusal-reply.js'
import { replyJson, replyToRun, replyWithStream } from './reply/reply.js'
import { statusOf } from './reply/statuses.js'
import { asksForStream } from './request/asks-for-stream.js'
import { type AuthorizedCaller, askAuthorize, isResponse } from './request/authorize.js'
import { createBodyReader } from './request/read-body.js'
import { checkContentType, checkEndBody, readRunBody } from './request/read-run-body.js'
import { readSessionHeader } from './request/session-header.js'
import type { ServedEngine } from './served-engine.js'

/** The last segment of a path that is served. */
export type Route = 'run' | 'flows' | 'end'

/** Answers a request for one of the routes, or `undefined` for a path that is none of them. Never rejects. */
export type RouteHandler = (request: Request, route: Route | undefined) => Promise<Response>

const METHODS: Readonly<Record<Route, readonly string[]>> = { run: ['POST'], flows: ['GET', 'HEAD'], end: ['POST'] }

const NOBODY: AuthorizedCaller = {}

/** @throws TypeError for an engine or an option that is none. `caller` is the function the user called. */
export function createRouteHandler(
  engine: ServedEngine,
  options: FlowRoutesOptions,
  caller: string,
  ownOptions: readonly string[] = [],
): RouteHandler {
  if (typeof engine?.execute !== 'function') throw new TypeError(`${caller}: the first argument must be a FlowEngine.`)
  checkOptions(options, caller, ownOptions)
  const { maxBodyBytes = 1024 * 1024, authorize, requirePrincipal = false } = options
  const { statuses = 'contract', heartbeatMs = 15_000 } = options
  const cors = options.cors === undefined ? undefined : createCors(options.cors, report)
  const readBody = createBodyReader(maxBodyBytes)
  const rawHeaders = createRawHeaders(options.rawHeaders)
  const replyToRefused = createRefusalReply(statuses, maxBodyBytes)

  function report(error: unknown): void {
    try {
      if (options.onError === undefined) console.error(error)
      else options.onError(error)
    } catch {
      // A reporter that fails must not fail the request as well.
    }
  }

  async function run(
    request: Request,
    who: AuthorizedCaller,
    corsHeaders: HeaderRecord | undefined,
  ): Promise<Response> {
    const { sessionId, dashed } = readSessionHeader(request.headers)
    checkContentType(request)
    const body = await readBody(request)
    const { flowName, message, config } = readRunBody(body, engine.limits.maxJsonDepth)
    const input: { -readonly [Key in keyof FlowRunInput]: FlowRunInput[Key] } = {
      flowName,
      userMessage: message,
    }
    // Some runtimes give a request no signal: then a client that goes away is not noticed.
    if (request.signal) input.signal = request.signal
    if (sessionId !== '') input.sessionId = sessionId
    if (config !== undefined) input.config = config
    if (who.principal !== undefined) input.owner = who.principal
    if (who.context !== undefined) input.serverContext = who.context
    if (engine.stream === undefined || !asksForStream(request.headers)) {
      return replyTo(await engine.execute(input), request, dashed, corsHeaders)
    }
    const events = engine.stream(input)
    const { value: first } = await events.next()
    if (first === undefined) throw new Error('The stream of a turn ended before it began.')
    // No byte has gone out, so it is told as without a stream: by the status.
    if (first.type === 'error') return replyTo(first, request, dashed, corsHeaders)
    return replyWithStream({ first, events, heartbeatMs, report }, { dashed, corsHeaders })
  }

  function replyTo(
    result: ExecuteResult,
    request: Request,
    dashed: boolean,
    corsHeaders: HeaderRecord | undefined,
  ): Response {
    return replyToRun(result, {
      failureStatus: result.response.success ? 200 : statusOf(result.error, statuses),
      dashed,
      envelopeAsked: asksForEnvelope(request.url),
      rawHeaders,
      corsHeaders,
    })
  }

  async function end(
    request: Request,
    who: AuthorizedCaller,
    corsHeaders: HeaderRecord | undefined,
  ): Promise<Response> {
    const { sessionId } = readSessionHeader(request.headers)
    const body = await readBody(request)
    if (body !== '') checkContentType(request)
    checkEndBody(body, engine.limits.maxJsonDepth)
    const { result, error } = await engine.executeDelete(sessionId, ownerOf(who))
    return replyJson(result, result.success ? 200 : statusOf(error, statuses), corsHeaders)
  }

  // Options without an owner let only sessions without one be deleted, which is what a caller without a name may do. No
  // options at all ask for no owner: without `authorize` there are none.
  function ownerOf({ principal }: AuthorizedCaller): { readonly owner?: string } | undefined {
    if (authorize === undefined) return undefined
    return principal === undefined ? {} : { owner: principal }
  }

  function answer(
    request: Request,
    route: Route,
    who: AuthorizedCaller,
    corsHeaders: HeaderRecord | undefined,
  ): Response | Promise<Response> {
    if (route === 'run') return run(request, who, corsHeaders)
    if (route === 'end') return end(request, who, corsHeaders)
    const reply = replyJson(engine.getFlowNames(), 200, corsHeaders)
    return request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply
  }

  return async function handleRoute(request, route) {
    let extraHeaders: HeaderRecord | undefined
    try {
      const corsHeaders = cors?.headersFor(request)
      extraHeaders = corsHeaders
      if (route === undefined) {
        throw new Refusal('Not found. The routes are POST run, GET flows and POST end, below the base path.', 404)
      }
      const methods = METHODS[route]
      if (request.method === 'OPTIONS' && cors !== undefined) return cors.preflight(request, methods)
      if (!methods.includes(request.method)) {
        const allowed = cors === undefined ? methods : [...methods, 'OPTIONS']
        extraHeaders = { ...corsHeaders, Allow: allowed.join(', ') }
        throw new Refusal(`Method not allowed. Use ${methods.join(' or ')}.`, 405)
      }
      const who = authorize === undefined ? NOBODY : await askAuthorize(authorize, requirePrincipal, request, report)
      if (isResponse(who)) return addCorsHeaders(who, corsHeaders)
      return await answer(request, route, who, corsHeaders)
    } catch (error) {
      if (error instanceof Refusal) return replyToRefused(request, error, extraHeaders)
      report(error)
      return replyToRefused(request, new Refusal('The request could not be handled.', 500), extraHeaders)
    }
  }
}

function asksForEnvelope(url: string): boolean {
  // Most URLs have no query, and parsing one is not cheap.
  return url.includes('?') && new URL(url).searchParams.get('envelope') === '1'
}
