/**
 * The flows on AWS Lambda, behind a function URL or an API Gateway, through Hono's adapter. `handler` answers when the reply is whole;
 * `streamingHandler` streams, and is for a function URL with the invoke mode RESPONSE_STREAM.
 *
 *     npm install turnkeeper hono keyv@5 @keyv/redis@5
 *     npx esbuild handler.ts --bundle --platform=node --format=esm --outfile=handler.mjs
 *
 * Lambda freezes the process when the handler has returned, so both wait for what a turn leaves behind. After a stream nobody waits for
 * that, because the stream has ended before.
 */
import { Hono } from 'hono'
import { handle, type LambdaContext, type LambdaEvent, streamHandle } from 'hono/aws-lambda'
import { FlowEngine } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { Guide, localModels, Notes } from '../serverless/flows.ts'

/** One engine for all requests of this process. Lambda keeps it while the process is warm. */
const keyv = await createRedisKeyv(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
const engine = await FlowEngine.create({
  flows: [Notes, Guide],
  providers: [localModels],
  sessionStore: new KeyvSessionStore({ keyv }),
  onTurnError: 'rollback',
  // Shorter than the timeout of the function, so that the turn fails in order.
  limits: { turnTimeoutMs: Number(process.env.TURN_TIMEOUT_MS ?? 25_000) },
})

/** What the turns of the request under way leave behind. A process has one request at a time. */
const left = new Set<Promise<unknown>>()

async function finishWork(): Promise<void> {
  const works = [...left]
  left.clear()
  await Promise.allSettled(works)
}

const app = new Hono()
app.route('/ai', flowRoutes(engine, { waitUntil: (work) => void left.add(work) }))

const reply = handle(app)
const stream = streamHandle(app)
