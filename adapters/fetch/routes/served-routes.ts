/** Which routes there are: their methods, and the options that some of them need. */

/** The last segment of a path that is served. */
export type Route = 'run' | 'flows' | 'end' | 'cancel' | 'session' | 'health' | 'openapi.json'

/** The methods of each route, apart from the `OPTIONS` of a preflight. */
export const routeMethods: Readonly<Record<Route, readonly string[]>> = {
  run: ['POST'],
  flows: ['GET', 'HEAD'],
  end: ['POST'],
  cancel: ['POST'],
  session: ['GET', 'HEAD'],
  health: ['GET', 'HEAD'],
  'openapi.json': ['GET', 'HEAD'],
}

/** The options of the routes that are there only if theirs is set. */
type RouteOptions = { readonly [Name in 'session' | 'health' | 'openApi']?: unknown }

const optionOf: Readonly<Partial<Record<string, keyof RouteOptions>>> = {
  session: 'session',
  health: 'health',
  'openapi.json': 'openApi',
}

/** @returns The routes that are served, `run` first. */
export function servedRoutes(options: RouteOptions): readonly Route[] {
  return (Object.keys(routeMethods) as Route[]).filter((route) => {
    const option = optionOf[route]
    return option === undefined || Boolean(options[option])
  })
}
