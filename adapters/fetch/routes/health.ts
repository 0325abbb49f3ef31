/**
 * `GET health`: whether the process is live, and whether its engine is ready. Probes have no credentials, so
 * `authorize` is not called, and the reply contains nothing else.
 */
import { replyJson } from '../reply/envelope.js'
import { Refusal } from '../reply/refusal.js'
import { addRetryAfter } from '../reply/statuses.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Answers a probe. Throws a `Refusal` if it asks for anything except `live` or `ready`. */
export async function answerHealth({ engine }: RouteContext, { request, headers }: RoutedRequest): Promise<Response> {
  // A process that answers is live. The store does not matter: a restart does not mend a store that is down.
  const ready = asksForLive(request.url) ? {} : { ready: (await engine.isReady?.()) === true }
  const status = ready.ready === false ? 503 : 200
  const added = { ...headers }
  addRetryAfter(added, status)
  const reply = replyJson({ live: true, ...ready }, status, added)
  return request.method === 'HEAD' ? new Response(null, { status, headers: reply.headers }) : reply
}

/**
 * A misspelt value is refused. If it counted as `ready`, a misspelt liveness probe would restart every process while
 * the store is down.
 */
function asksForLive(url: string): boolean {
  const [[name, check] = ['check', 'ready'], ...others] = new URL(url).searchParams
  if (name !== 'check' || (check !== 'live' && check !== 'ready') || others.length > 0) {
    throw new Refusal("The only parameter is check, once: 'live' or 'ready'.")
  }
  return check === 'live'
}
