/**
 * Serves the example application on Node. Settings, from the environment:
 *
 *     PORT              3000; 0 takes any free one
 *     HOST              127.0.0.1; 0.0.0.0 lets other machines in
 *     PUBLIC_URL        http://<HOST>:<PORT>; where users reach the server, without a slash at the end
 *     ALLOWED_ORIGINS   http://localhost:5173; web pages that may call, with commas between them
 *     CARRIER_URL       none; a carrier to ask for parcels over HTTP, in place of the one that is built in
 *     DESK_MODEL        local:desk-1; the model of the support desk, see models/choose-model.ts
 *     SESSION_STORE     memory; redis, sqlite or postgres keep the conversations over a restart. The engine then
 *                       also reads REDIS_URL, SQLITE_PATH or POSTGRES_URL
 *
 * SIGTERM and SIGINT end it: no new connections, turns under way finish and are answered, exit code 0.
 */
import { readFile } from 'node:fs/promises'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { flowRoutes } from 'turnkeeper/hono'
import { createApplication } from './application.js'
import { pageRoutes } from './page.js'
import { reportRoutes } from './report-file.js'
import { reportAddress } from './reports/address.js'
import { createRemoteParcels } from './services/parcels.js'
import { tryItLines } from './try-it.js'

const { PORT = '3000', HOST = '127.0.0.1', ALLOWED_ORIGINS = 'http://localhost:5173', CARRIER_URL } = process.env

let { PUBLIC_URL } = process.env

const engine = await createApplication({
  reportAddress: (title) => reportAddress(title, PUBLIC_URL),
  ...(CARRIER_URL === undefined ? {} : { parcels: createRemoteParcels(CARRIER_URL) }),
})
engine.on('turn:end', ({ flowName, durationMs, success }) => {
  console.log(`${flowName}: ${success ? 'answered' : 'failed'} after ${durationMs} ms`)
})

let closing = false
const app = new Hono()
app.use(async (context, next) => {
  await next()
  // Otherwise a client would keep its connection, and the server would wait for it.
  if (closing) context.header('Connection', 'close')
})
// The page shows the running tool, and after a reload the earlier messages.
const cors = { origin: ALLOWED_ORIGINS.split(',') }
// A demonstration: everyone may call. An application identifies its users here.
app.route('/ai', flowRoutes(engine, { authorize: 'none', cors, streamDetails: true, session: true }))
// The built code is in examples/dist; the page needs no build.
const client = readFile(new URL(import.meta.resolve('turnkeeper/client')), 'utf8')
app.route('/', pageRoutes(new URL('../../server/page/', import.meta.url), client))
app.route('/', reportRoutes())

const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: HOST }, ({ port }) => {
  const url = `http://${HOST}:${port}`
  PUBLIC_URL ??= url
  console.log(`The example server runs at ${url}. Ctrl-C ends it.\n\n${tryItLines(url)}\n`)
})
server.once('error', (error: NodeJS.ErrnoException) => {
  console.error(
    error.code === 'EADDRINUSE' ? `Port ${PORT} is in use. Set PORT to another one, or to 0.` : error.message,
  )
  process.exit(1)
})

async function shutDown(): Promise<void> {
  if (closing) return
  closing = true
  const stopped = new Promise((resolve) => server.close(resolve))
  console.log('Closing: no new connections, turns under way finish.')
  await engine.close()
  await stopped
  console.log('Closed.')
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void shutDown())
