/**
 * The entry point `turnkeeper/hono`: the routes as a Hono app. Hono finds the route, so the app works at any mount
 * point; the Fetch adapter does the rest.
 *
 * @module turnkeeper/hono
 */
import { type Context, Hono } from 'hono'
import { HonoRequest } from 'hono/request'
import { invalidInput } from '../../src/util/options.js'
import type { ServedEngine } from '../fetch/core/served-engine.js'
import type { FlowRoutesOptions } from '../fetch/options.js'
import { isObject } from '../fetch/request/is-object.js'
import { createRouteHandler, type NoRoute } from '../fetch/route-handler.js'
import { servedRoutes } from '../fetch/routes/served-routes.js'

export type { OpenApiDocument } from '../fetch/core/openapi-document.js'
export type { ServedEngine } from '../fetch/core/served-engine.js'
export type { CorsOptions } from '../fetch/cors.js'
export type { FlowRoutesOptions } from '../fetch/options.js'
export type { StatusMode } from '../fetch/reply/statuses.js'
export type { Authorize, AuthorizedCaller } from '../fetch/request/authorize.js'

/**
 * The routes as a Hono app. Mount it with `app.route`, at any path; not with `app.mount`.
 *
 * Any other path below the mount point is 404 with a JSON envelope. Your own app's routes come first, whether you add
 * them before or after.
 *
 * @param engine - the engine, or an object that wraps one
 * @param options - see {@link FlowRoutesOptions}; all have defaults
 * @throws `InvalidInputError` at once for a wrong or unknown option
 *
 * @example
 * ```ts
 * import { serve } from '@hono/node-server'
 * import { Hono } from 'hono'
 * import { FlowEngine } from 'turnkeeper'
 * import { flowRoutes } from 'turnkeeper/hono'
 *
 * const engine = await FlowEngine.create({ flows: [Onboarding] })
 * const app = new Hono()
 * app.route('/ai', flowRoutes(engine))
 * serve({ fetch: app.fetch, port: 3000 })
 * ```
 */
export function flowRoutes(engine: ServedEngine, options: FlowRoutesOptions = {}): Hono {
  const handleRoute = createRouteHandler(engine, options, 'flowRoutes')
  const app = new Hono()
  checkVersion(app)
  for (const route of servedRoutes(options)) {
    app.all(`/${route}`, (context) => handleRoute(context.req.raw, route, runtimeOf(context)))
  }
  app.all('*', (context, next) => (hasLaterRoute(context) ? next() : handleRoute(context.req.raw, noRoute(context))))
  return app
}

/**
 * The context of the runtime, if there is one, for its `waitUntil`. A Node server has none and needs none. It is
 * recognised by its `env`, because Hono throws for a missing context, and an error costs more than the rest of a route.
 */
function runtimeOf(context: Context): unknown {
  if (isObject(context.env) && 'incoming' in context.env && 'outgoing' in context.env) return undefined
  try {
    return context.executionCtx
  } catch {
    return undefined
  }
}

/**
 * Whether the application has its own route for this path; then this app must not answer, even if it is mounted at `/`.
 */
function hasLaterRoute(context: Context): boolean {
  return context.req.routeIndex < context.req.matchedRoutes.length - 1
}

/** The mount point of this app, as the application wrote it: `/:tenant/ai`. */
function noRoute({ req: { matchedRoutes, routeIndex } }: Context): NoRoute {
  return { basePath: matchedRoutes[routeIndex]?.basePath || '/' }
}

/**
 * Hono does not expose its version, so this checks for a method that `Hono` has since 4.13. `matchedRoutes` of the
 * request is deprecated and may vanish, but the function of `hono/route` is missing in older versions, so its import
 * would fail before this check (docs/decisions/deployments.md).
 */
function checkVersion(app: Hono): void {
  if ('query' in app && 'matchedRoutes' in HonoRequest.prototype) return
  throw invalidInput('flowRoutes: turnkeeper/hono needs hono 4, from 4.13.19 on: npm install hono@4.')
}
