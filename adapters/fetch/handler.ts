/** The Fetch handler: finds the route by the path; the route handler does the rest. */

import { checkBasePath } from './check-options.js'
import type { ServedEngine } from './core/served-engine.js'
import type { FetchHandlerOptions } from './options.js'
import { pathOf } from './request/path-of.js'
import { createRouteHandler } from './route-handler.js'
import { servedRoutes } from './routes/served-routes.js'

/**
 * Serves an engine's flows over HTTP, on any runtime that speaks `Request` and `Response`: `POST /ai/run` runs a turn,
 * `GET /ai/flows` lists the flows, `POST /ai/end` deletes a session and `POST /ai/cancel` cancels the turn under way.
 * The option `session` adds `GET /ai/session`, which returns the stored conversation; `tickets` adds `POST /ai/ticket`,
 * which takes the events of links in mails; `health` adds `GET /ai/health`
 * for probes; `openApi` adds `GET /ai/openapi.json`, which describes the routes.
 *
 * The handler never rejects: every failure becomes a JSON envelope with `success: false`.
 *
 * @param engine - the engine, or an object that wraps one
 * @param options - see {@link FetchHandlerOptions}; all have defaults
 * @returns a function from a request to its reply; pass it to your runtime's server. If its second argument has a
 * method `waitUntil`, the handler uses it to keep the runtime alive for work that outlives the reply; any other second
 * argument is ignored
 * @throws `InvalidInputError` at once for a wrong or unknown option
 *
 * @example
 * ```ts
 * import { FlowEngine } from 'turnkeeper'
 * import { createFetchHandler } from 'turnkeeper/fetch'
 *
 * const engine = await FlowEngine.create({ flows: [Onboarding] })
 * export default { fetch: createFetchHandler(engine) } // Bun, Deno and workerd take it like this
 * ```
 *
 * @example
 * ```ts
 * // workerd, if a flow has a summary: it passes its context as the third argument.
 * const handler = createFetchHandler(engine)
 * export default { fetch: (request: Request, _env: unknown, context: ExecutionContext) => handler(request, context) }
 * ```
 */
export function createFetchHandler(
  engine: ServedEngine,
  options: FetchHandlerOptions = {},
): (request: Request, runtime?: unknown) => Promise<Response> {
  const handleRoute = createRouteHandler(engine, options, 'createFetchHandler', { basePath: true })
  const { basePath = '/ai' } = options
  checkBasePath(basePath, 'createFetchHandler')
  const prefix = basePath === '/' ? '' : basePath
  const routes = new Map(servedRoutes(options).map((route) => [`${prefix}/${route}`, route]))
  return function handleRequest(request, runtime) {
    return handleRoute(request, routes.get(pathOf(request.url)) ?? { basePath }, runtime)
  }
}
