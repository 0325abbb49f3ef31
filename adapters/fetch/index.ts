// The entry point `turnkeeper/fetch`: the names that applications use.
export type { Authorize, AuthorizedCaller } from './authorize.js'
export type { CorsOptions } from './cors.js'
export { createFetchHandler } from './handler.js'
export type { FetchHandlerOptions, FlowRoutesOptions } from './options.js'
export type { ServedEngine } from './served-engine.js'
export type { StatusMode } from './statuses.js'
