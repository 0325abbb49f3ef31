/**
 * The entry point `turnkeeper/fetch`: the HTTP routes on any runtime with `Request` and `Response`.
 *
 * @module turnkeeper/fetch
 */

export type { OpenApiDocument } from './core/openapi-document.js'
export type { ServedEngine } from './core/served-engine.js'
export type { CorsOptions } from './cors.js'
export { createFetchHandler } from './handler.js'
export type { FetchHandlerOptions, FlowRoutesOptions } from './options.js'
export type { StatusMode } from './reply/statuses.js'
export type { Authorize, AuthorizedCaller } from './request/authorize.js'
