/**
 * The flows on Bun. A Bun server keeps running after its replies, so summaries need nothing else.
 * docs/deploy.md, "What to copy", lists the files. In their folder:
 *
 *     bun add ./turnkeeper-0.1.0.tgz keyv@5 @keyv/redis@5
 *     SESSION_STORE=redis REDIS_URL=redis://127.0.0.1:6379 bun bun/server.ts
 *
 * PORT is 3000 by default. Without SESSION_STORE the sessions are in the memory of this process.
 */
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { Guide, localModels, Notes } from '../serverless/flows.ts'

const engine = await FlowEngine.create({ flows: [Notes, Guide], providers: [localModels], onTurnError: 'rollback' })

const server = Bun.serve({
  port: Number(process.env.PORT ?? 3000),
  hostname: '127.0.0.1',
  // Otherwise Bun closes a connection after ten seconds without a byte, while the model thinks. The
  // turn has its own deadline.
  idleTimeout: 0,
  fetch: createFetchHandler(engine, { authorize: 'none' }),
})
console.log(`Listening on ${server.url}`)

async function shutDown(): Promise<void> {
  const stopped = server.stop()
  await engine.close()
  await stopped
  process.exit(0)
}
process.on('SIGTERM', () => void shutDown())
