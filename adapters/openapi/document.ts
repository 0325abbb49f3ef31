/**
 * The OpenAPI document of the routes. It is made from what the adapter itself works with: the list of routes, the table
 * of statuses, the names of headers, the types of stream events. `operations.ts` says what each route takes and
 * answers.
 */
import type { JsonObject } from '../../src/index.js'
import { checkInfo, infoNames } from '../fetch/openapi/check-info.js'
import type { OpenApiInfo } from '../fetch/openapi/info.js'
import { checkBasePath, checkOptions, type FetchHandlerOptions } from '../fetch/options.js'
import { routeMethods, servedRoutes } from '../fetch/routes/served-routes.js'
import { createHeaderList } from './headers.js'
import { createOperation, createPreflight, failureCodes } from './operations.js'
import { createSchemas } from './schemas.js'

/**
 * The options of `openApiDocument`: those of the handler that serves the routes, and what the document says of the
 * application.
 */
export interface OpenApiDocumentOptions extends FetchHandlerOptions, OpenApiInfo {}

/** A document of OpenAPI 3.1, as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: JsonObject
  readonly servers?: readonly JsonObject[]
  /** By path: `/ai/run`. */
  readonly paths: Readonly<Record<string, JsonObject>>
  readonly components: Readonly<Record<'schemas' | 'headers', JsonObject>>
}

const caller = 'openApiDocument'

/**
 * Describes the routes in OpenAPI 3.1: every path, method, header, status, error code and stream event that a handler
 * with these options has. It does not describe what `authorize` answers by itself, for the application decides that.
 *
 * @param options - see {@link OpenApiDocumentOptions}; all have defaults. What is not in them is taken from their
 * `openApi`
 * @throws `InvalidInputError` for an option that is wrong or unknown
 *
 * @example
 * ```ts
 * import { openApiDocument } from 'turnkeeper/fetch'
 *
 * const document = openApiDocument({ statuses: 'precise', title: 'Shop', servers: ['https://api.shop.example'] })
 * await writeFile('openapi.json', JSON.stringify(document))
 * ```
 */
export function openApiDocument(options: OpenApiDocumentOptions = {}): OpenApiDocument {
  checkOptions(options, caller, { basePath: true, ...infoNames })
  checkInfo(options, caller)
  const { basePath = '/ai' } = options
  checkBasePath(basePath, caller)
  return createDocument(options, basePath)
}

/** The document of options that were checked, for the routes below a path. */
export function createDocument(options: OpenApiDocumentOptions, basePath: string): OpenApiDocument {
  const { openApi, stream = true, streamDetails = false } = options
  const about = typeof openApi === 'object' ? openApi : {}
  const { title = about.title ?? 'Flows', version = about.version ?? '1.0.0', servers = about.servers } = options
  const headers = createHeaderList()
  const prefix = basePath === '/' ? '' : basePath
  const paths = servedRoutes(options).map((route): [string, JsonObject] => {
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
