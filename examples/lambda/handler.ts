/**
 * The flows on AWS Lambda, behind a function URL or an API Gateway, through Hono's adapter. `handler` answers when the
 * reply is whole; `streamingHandler` streams, and is for a function URL with the invoke mode RESPONSE_STREAM. build.mjs
 * makes the file to upload. docs/deploy.md, "What to copy", lists the files. In their folder:
 *
 *     npm install ./turnkeeper-0.1.0.tgz hono keyv@5 @keyv/redis@5 esbuild
 *     node lambda/build.mjs handler.mjs
 *
 * Lambda freezes the process when the handler has returned, so both handlers wait for work that outlives a turn. A
 * stream has ended by then, and its client does not wait.
 */
import { Hono } from 'hono'
import { handle, type LambdaContext, type LambdaEvent, streamHandle } from 'hono/aws-lambda'
import { FlowEngine } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { Guide, localModels, Notes } from '../serverless/flows.ts'

/** The work that outlives the current turn. A process handles one request at a time. */
const left = new Set<Promise<unknown>>()

/** Work may start more work: wait until there is none. */
async function finishWork(): Promise<void> {
  while (left.size > 0) {
    const work = [...left]
    await Promise.allSettled(work)
    for (const done of work) left.delete(done)
  }
}

// Lambda keeps the process, and with it the engine, for the next requests.
const keyv = await createRedisKeyv(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
const engine = await FlowEngine.create({
  flows: [Notes, Guide],
  providers: [localModels],
  sessionStore: new KeyvSessionStore({ keyv }),
  onTurnError: 'rollback',
  // Less than the timeout of the function. Lambda does not report that the client of a stream has left, so its turn
  // goes on until this deadline.
  limits: { turnTimeoutMs: Number(process.env.TURN_TIMEOUT_MS ?? 25_000) },
})
const app = new Hono()
app.route('/ai', flowRoutes(engine, { authorize: 'none', waitUntil: (work) => void left.add(work) }))

const reply = handle(app)

/** For API Gateway, and for a function URL with the invoke mode BUFFERED. */
export async function handler(event: LambdaEvent, context: LambdaContext) {
  try {
    return await reply(event, context)
  } finally {
    await finishWork()
  }
}

// Hono types it as a handler without a stream.
const stream = streamHandle(app) as unknown as awslambda.StreamingHandler<LambdaEvent, LambdaContext>

/** For a function URL with the invoke mode RESPONSE_STREAM. */
export const streamingHandler = awslambda.streamifyResponse<LambdaEvent, LambdaContext>(
  async (event, responseStream, context) => {
    try {
      await stream(event, responseStream, context)
    } finally {
      await finishWork()
    }
  },
)
