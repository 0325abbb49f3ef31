/** The entry point `turnkeeper/fetch`: the names that applications use. */

export type { CorsOptions } from './cors.js'
export { createFetchHandler } from './handler.js'
export type { FetchHandlerOptions, FlowRoutesOptions } from './options.js'
export type { StatusMode } from './reply/statuses.js'
export type { Authorize, AuthorizedCaller } from './request/authorize.js'
export type { ServedEngine } from './served-engine.js'
