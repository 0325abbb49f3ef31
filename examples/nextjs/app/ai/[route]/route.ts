/**
 * The flows as a route handler of Next.js, on Node: `/museum/ai/run` and its siblings. The `basePath` of the handler is
 * `/ai`, without the `basePath` of next.config.ts, because Next.js cuts that off on Node.
 * docs/deploy.md, "What to copy", lists the files. In their folder:
 *
 *     npm install ./turnkeeper-0.1.0.tgz next@16 react react-dom keyv@5 @keyv/redis@5 @upstash/redis
 *     npx next build nextjs
 *     REDIS_URL=redis://127.0.0.1:6379 npx next start nextjs
 */
import { after } from 'next/server'
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { Guide, localModels, Notes } from '../../../../serverless/flows.ts'

type Handler = (request: Request) => Promise<Response>

/** Not at import time, because `next build` imports this file too. */
async function createHandler(): Promise<Handler> {
  const keyv = await createRedisKeyv(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
  const engine = await FlowEngine.create({
    flows: [Notes, Guide],
    providers: [localModels],
    sessionStore: new KeyvSessionStore({ keyv }),
    onTurnError: 'rollback',
  })
  return createFetchHandler(engine, { authorize: 'none', basePath: '/ai', waitUntil: after })
}

let handler: Promise<Handler> | undefined

async function handle(request: Request): Promise<Response> {
  handler ??= createHandler()
  return (await handler)(request)
}

export { handle as GET, handle as OPTIONS, handle as POST }
