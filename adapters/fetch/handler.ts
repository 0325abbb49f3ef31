/** The Fetch handler: finds the route in the path and leaves the rest to the route handler. */

import { checkBasePath } from './check-options.js'
import type { ServedEngine } from './core/served-engine.js'
import type { FetchHandlerOptions } from './options.js'
import { pathOf } from './request/path-of.js'
import { createRouteHandler } from './route-handler.js'
import { servedRoutes } from './routes/served-routes.js'

/**
 * Serves an engine's flows over HTTP, on any runtime that speaks `Request` and `Response`: `POST /ai/run` runs a turn,
 * `GET /ai/flows` lists the flows, `POST /ai/end` deletes a session and `POST /ai/cancel` cancels the turn under way.
 * With the options `session` and `health`, `GET /ai/session` answers with the stored conversation and `GET /ai/health`
 * answers probes; with `openApi`, `GET /ai/openapi.json` describes the routes.
 *
 * The handler never rejects: whatever goes wrong becomes a JSON envelope with `success: false`.
 *
 * @param engine - the engine, or an object that stands in front of one
 * @param options - see {@link FetchHandlerOptions}; all have defaults
 * @returns a function from a request to its reply; hand it to the server of your runtime. If its second argument is an
 * object with a method `waitUntil`, that one keeps the runtime alive for what a turn leaves behind; any other is
 * ignored
 * @throws `InvalidInputError` at once for an option that is wrong or unknown
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
