/**
 * Builds the OpenAPI document from the tables that the adapter itself uses: routes, statuses, header names, types of
 * stream events. `operations.ts` describes the input and output of each route.
 */
import type { JsonObject } from '../../src/index.js'
import { checkBasePath, checkOptions } from '../fetch/check-options.js'
import type { OpenApiDocument } from '../fetch/core/openapi-document.js'
import type { FetchHandlerOptions } from '../fetch/options.js'
import { routeMethods, servedRoutes } from '../fetch/routes/served-routes.js'
import { createHeaderList } from './headers.js'
import { checkInfo, infoNames, type OpenApiInfo } from './info.js'
import { createOperation, createPreflight, failureCodes } from './operations.js'
import { createSchemas } from './schemas.js'

/**
 * The options of `openApiDocument`: the options of the handler that serves the routes, and the application's title,
 * version and servers.
 */
export interface OpenApiDocumentOptions extends FetchHandlerOptions, OpenApiInfo {}

const caller = 'openApiDocument'

/**
 * Describes the routes in OpenAPI 3.1: every path, method, header, status, error code and stream event that a handler
 * with these options has. It does not describe the `Response`s of `authorize`, because the application decides them.
 *
 * @param options - see {@link OpenApiDocumentOptions}; all have defaults. The route of the document itself is in it,
 * unless `openApi` is `false`
 * @throws `InvalidInputError` for a wrong or unknown option
 *
 * @example
 * ```ts
 * import { createFetchHandler } from 'turnkeeper/fetch'
 * import { openApiDocument } from 'turnkeeper/openapi'
 *
 * const options = { statuses: 'precise', session: true } as const
 * const openApi = openApiDocument({ ...options, title: 'Shop', version: '2.3.0' })
 * const handler = createFetchHandler(engine, { ...options, openApi }) // GET /ai/openapi.json
 * ```
 */
export function openApiDocument(options: OpenApiDocumentOptions = {}): OpenApiDocument {
  checkOptions(options, caller, { basePath: true, ...infoNames })
  checkInfo(options, caller)
  const { basePath = '/ai', title = 'Flows', version = '1.0.0', servers } = options
  const { stream = true, streamDetails = false, openApi } = options
  checkBasePath(basePath, caller)
  const headers = createHeaderList()
  const prefix = basePath === '/' ? '' : basePath
  const paths = servedRoutes({ ...options, openApi: openApi !== false }).map((route): [string, JsonObject] => {
    const operations = routeMethods[route].map((method): [string, JsonObject] => [
      method.toLowerCase(),
      createOperation(route, method, options, headers),
    ])
    if (options.cors !== undefined) operations.push(['options', createPreflight(route, options, headers)])
    return [`${prefix}/${route}`, Object.fromEntries(operations)]
  })
  return {
    openapi: '3.1.0',
    info: { title, version },
    ...(servers === undefined ? {} : { servers: servers.map((url) => ({ url })) }),
    paths: Object.fromEntries(paths),
    components: {
      schemas: createSchemas(failureCodes, stream, streamDetails),
      headers: headers.used,
    },
  }
}
