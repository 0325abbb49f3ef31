/** `GET flows`: the names of the flows. */
import { replyJson } from '../reply/envelope.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Lists the flows. To `HEAD` the reply has the same headers and no body. */
export function listFlows({ engine }: RouteContext, { request, corsHeaders }: RoutedRequest): Response {
  const reply = replyJson(engine.getFlowNames(), 200, corsHeaders)
  return request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply
}
