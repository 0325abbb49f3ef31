/** `GET flows`: the names of the flows that the caller may run. */
import { replyJson } from '../reply/envelope.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Lists the flows. The reply to `HEAD` has the same headers and no body. */
export async function listFlows(
  { engine, mayRun }: RouteContext,
  { request, caller, headers }: RoutedRequest,
): Promise<Response> {
  const names = engine.getFlowNames()
  const answers = mayRun && (await Promise.all(names.map((name) => mayRun(caller?.principal, name, request))))
  const reply = replyJson(answers === undefined ? names : names.filter((_name, index) => answers[index]), 200, headers)
  return request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply
}
