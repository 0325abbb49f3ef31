/** `GET openapi.json`: the OpenAPI document of the routes, with their paths as the client sees them. */
import { replyJson } from '../reply/envelope.js'
import { pathOf } from '../request/path-of.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Sends the document. To `HEAD` the reply has the same headers and no body. */
export function sendDocument({ openApi }: RouteContext, { request, headers }: RoutedRequest): Response {
  const path = pathOf(request.url)
  const basePath = path.slice(0, path.lastIndexOf('/')) || '/'
  const reply = replyJson(openApi(basePath), 200, headers)
  return request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply
}
