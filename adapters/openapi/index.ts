/**
 * The entry point `turnkeeper/openapi`: the HTTP routes described in OpenAPI.
 *
 * @module turnkeeper/openapi
 */

export type { OpenApiDocument } from '../fetch/core/openapi-document.js'
export type { CorsOptions } from '../fetch/cors.js'
export type { FetchHandlerOptions, FlowRoutesOptions } from '../fetch/options.js'
export type { StatusMode } from '../fetch/reply/statuses.js'
export type { Authorize, AuthorizedCaller } from '../fetch/request/authorize.js'
export { type OpenApiDocumentOptions, openApiDocument } from './document.js'
export type { OpenApiInfo } from './info.js'
