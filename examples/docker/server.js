/**
 * A server that can be replaced while people talk. Settings, from the environment:
 *
 *     PORT           3000
 *     HOST           127.0.0.1; in a container 0.0.0.0
 *     SESSION_STORE  memory; redis for more than one process, with REDIS_URL
 *     CARRIER_URL    none; the service that locates parcels
 *
 * SIGTERM and SIGINT end it: GET /ai/health says that it is not ready, it takes no new connections, turns under way
 * finish and are answered, exit code 0.
 */
import { serve } from '@hono/node-server'
import { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'
import { Parcels } from './parcels.js'

const { PORT = '3000', HOST = '127.0.0.1' } = process.env

const engine = await FlowEngine.create({
  flows: [Parcels],
  onTurnError: 'rollback',
  // The end of the process aborts no admitted turn. terminationGracePeriodSeconds in examples/kubernetes relies on
  // this.
  limits: { turnTimeoutMs: 30_000, closeTimeoutMs: 30_000 },
})
// A demonstration: everyone may call. An application identifies its users here.
const handle = createFetchHandler(engine, { authorize: 'none', statuses: 'precise', health: true })

let closing = false

/** @param {Request} request */
async function answer(request) {
  const reply = await handle(request)
  // A client that kept its connection would keep the server open.
  if (closing) reply.headers.set('Connection', 'close')
  return reply
}

const server = serve({ fetch: answer, port: Number(PORT), hostname: HOST }, ({ port }) => {
  console.log(`Parcels at http://${HOST}:${port}/ai/run`)
})

async function shutDown() {
  if (closing) return
  closing = true
  const stopped = new Promise((resolve) => server.close(resolve))
  console.log('Closing: no new connections, turns under way finish.')
  // Not ready from here on.
  await engine.close()
  await stopped
  console.log('Closed.')
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void shutDown())
