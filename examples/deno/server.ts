/**
 * The flows on Deno. A Deno server keeps running after its replies, so summaries need nothing else. docs/deploy.md,
 * "What to copy", lists the files. In their folder:
 *
 *     npm install ./turnkeeper-0.1.0.tgz keyv@5 @keyv/redis@5
 *     SESSION_STORE=redis REDIS_URL=redis://127.0.0.1:6379 deno run --allow-net --allow-env --allow-read deno/server.ts
 *
 * PORT is 3000 by default. Without SESSION_STORE the sessions are in the memory of this process.
 */
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { Guide, localModels, Notes } from '../serverless/flows.ts'

const engine = await FlowEngine.create({ flows: [Notes, Guide], providers: [localModels], onTurnError: 'rollback' })

const server = Deno.serve(
  {
    port: Number(Deno.env.get('PORT') ?? 3000),
    hostname: '127.0.0.1',
    onListen: ({ hostname, port }) => console.log(`Listening on http://${hostname}:${port}/`),
  },
  createFetchHandler(engine, { authorize: 'none' }),
)

async function shutDown(): Promise<void> {
  const stopped = server.shutdown()
  await engine.close()
  await stopped
  Deno.exit(0)
}
Deno.addSignalListener('SIGTERM', () => void shutDown())
