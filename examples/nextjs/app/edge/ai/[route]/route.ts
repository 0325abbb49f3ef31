/**
 * The same flows with `runtime = 'edge'`: `/museum/edge/ai/run` and its siblings. There the URL of a request includes
 * the `basePath` of next.config.ts, so the handler's `basePath` begins with it. The edge runtime has no TCP, so the
 * sessions are in Redis over HTTP. docs/deploy.md, "What to copy", lists the files. In their folder:
 *
 *     npm install ./turnkeeper-0.1.0.tgz next@16 react react-dom keyv@5 @keyv/redis@5 @upstash/redis
 *     npx next build nextjs
 *     UPSTASH_REDIS_REST_URL=... UPSTASH_REDIS_REST_TOKEN=... npx next start nextjs
 */
import { Redis } from '@upstash/redis'
import { after } from 'next/server'
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { createUpstashStore } from 'turnkeeper/upstash'
import { Guide, localModels, Notes } from '../../../../../serverless/flows.ts'

export const runtime = 'edge'

function createHandler(): (request: Request) => Promise<Response> {
  const engine = new FlowEngine({
    flows: [Notes, Guide],
    providers: [localModels],
    sessionStore: createUpstashStore(Redis.fromEnv({ retry: { retries: 0 } })),
    onTurnError: 'rollback',
  })
  return createFetchHandler(engine, { authorize: 'none', basePath: '/museum/edge/ai', waitUntil: after })
}

let handler: ReturnType<typeof createHandler> | undefined

async function handle(request: Request): Promise<Response> {
  handler ??= createHandler()
  return handler(request)
}

export { handle as GET, handle as OPTIONS, handle as POST }
