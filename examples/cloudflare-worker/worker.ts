/**
 * The flows on Cloudflare Workers. Each session has its own Durable Object, so all isolates see the same session.
 * docs/deploy.md, "What to copy", lists the files. In their folder:
 *
 *     npm install ./turnkeeper-0.1.0.tgz wrangler
 *     npx wrangler deploy --config cloudflare-worker/wrangler.json
 */
import { FlowEngine } from 'turnkeeper'
import { type DurableObjectNamespaceLike, DurableObjectSessionStore } from 'turnkeeper/durable-object'
import { createFetchHandler } from 'turnkeeper/fetch'
import { Guide, localModels, Notes } from '../serverless/flows.ts'

/** The class of the objects, which wrangler.json names. */
export { SessionObject } from 'turnkeeper/durable-object'

interface Env {
  readonly SESSIONS: DurableObjectNamespaceLike
}

interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void
}

function createHandler({ SESSIONS }: Env): ReturnType<typeof createFetchHandler> {
  const engine = new FlowEngine({
    flows: [Notes, Guide],
    providers: [localModels],
    sessionStore: new DurableObjectSessionStore({ namespace: SESSIONS }),
    onTurnError: 'rollback',
  })
  return createFetchHandler(engine, { authorize: 'none' })
}

/** One engine for all requests of an isolate. The bindings come with the first of them. */
let handler: ReturnType<typeof createFetchHandler> | undefined

export default {
  // The context has `waitUntil`, which keeps the isolate alive for the summaries.
  fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    handler ??= createHandler(env)
    return handler(request, context)
  },
}
