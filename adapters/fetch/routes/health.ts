/**
 * `GET health`: whether the process is live, and whether its engine is ready. It is for probes, which have no
 * credentials: `authorize` is not called, and the reply says nothing but that.
 */
import { replyJson } from '../reply/envelope.js'
import { Refusal } from '../reply/refusal.js'
import { addRetryAfter } from '../reply/statuses.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** Answers a probe. Throws a `Refusal` where it asks for something else than `live` or `ready`. */
export async function answerHealth({ engine }: RouteContext, { request, headers }: RoutedRequest): Promise<Response> {
  // A process that answers is live. Its store is not asked: no restart mends a store that is down.
  const ready = asksForLive(request.url) ? {} : { ready: (await engine.isReady?.()) === true }
  const status = ready.ready === false ? 503 : 200
  const added = { ...headers }
  addRetryAfter(added, status)
  const reply = replyJson({ live: true, ...ready }, status, added)
  return request.method === 'HEAD' ? new Response(null, { status, headers: reply.headers }) : reply
}

/**
 * Anything misspelt is refused: taken for `ready`, a probe for `live` would restart every process while the store is
 * down.
 */
function asksForLive(url: string): boolean {
  const [[name, check] = ['check', 'ready'], ...others] = new URL(url).searchParams
  if (name !== 'check' || (check !== 'live' && check !== 'ready') || others.length > 0) {
    throw new Refusal("The only parameter is check, once: 'live' or 'ready'.")
  }
  return check === 'live'
}
