/** `GET openapi.json`: the OpenAPI document of the routes, with their paths as the client sees them. */
import { invalidInput } from '../../../src/util/options.js'
import type { OpenApiDocument } from '../core/openapi-document.js'
import { replyJson } from '../reply/envelope.js'
import { isObject } from '../request/is-object.js'
import { pathOf } from '../request/path-of.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { routeMethods } from './served-routes.js'

/** @throws `InvalidInputError` unless the option `openApi` is a document, or `false`. */
export function checkDocument(openApi: unknown, caller: string): void {
  if (openApi === undefined || openApi === false || (isObject(openApi) && isObject(openApi.paths))) return
  throw invalidInput(`${caller}: openApi must be a document made by openApiDocument of turnkeeper/openapi.`)
}

/** Sends the document. The reply to `HEAD` has the same headers and no body. */
export function sendDocument({ openApi }: RouteContext, { request, headers }: RoutedRequest): Response {
  const reply = replyJson(openApi && below(pathOf(request.url), openApi), 200, headers)
  return request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply
}

/** The document with its routes placed beside the path of the request. Paths that the application added stay. */
function below(path: string, document: OpenApiDocument): OpenApiDocument {
  const base = path.slice(0, path.lastIndexOf('/'))
  const paths = Object.entries(document.paths).map(([described, item]) => {
    const route = described.slice(described.lastIndexOf('/') + 1)
    return [Object.hasOwn(routeMethods, route) ? `${base}/${route}` : described, item]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}
