/** The routes, their methods, and the options that some of them need. */

/** The last segment of a served path. */
export type Route = 'run' | 'flows' | 'end' | 'cancel' | 'session' | 'ticket' | 'health' | 'openapi.json'

/** The methods of each route, apart from the `OPTIONS` of a preflight. */
export const routeMethods: Readonly<Record<Route, readonly string[]>> = {
  run: ['POST'],
  flows: ['GET', 'HEAD'],
  end: ['POST'],
  cancel: ['POST'],
  session: ['GET', 'HEAD'],
  // Not GET: mail scanners open links.
  ticket: ['POST'],
  health: ['GET', 'HEAD'],
  'openapi.json': ['GET', 'HEAD'],
}

/** The options that switch optional routes on. */
type RouteOptions = { readonly [Name in 'session' | 'tickets' | 'health' | 'openApi']?: unknown }

const optionOf: Readonly<Partial<Record<string, keyof RouteOptions>>> = {
  session: 'session',
  ticket: 'tickets',
  health: 'health',
  'openapi.json': 'openApi',
}

/** @returns the served routes, `run` first */
export function servedRoutes(options: RouteOptions): readonly Route[] {
  return (Object.keys(routeMethods) as Route[]).filter((route) => {
    const option = optionOf[route]
    return option === undefined || Boolean(options[option])
  })
}
