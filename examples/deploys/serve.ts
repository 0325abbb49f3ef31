/**
 * Serves one of the releases, `RELEASE=1` or `RELEASE=2`, on a free port, over the store that `SESSION_STORE` names.
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { FlowEngine } from 'turnkeeper'
import { flowRoutes } from 'turnkeeper/hono'
import { Shipping } from './release-1.js'
import { Delivery } from './release-2.js'

const { RELEASE } = process.env
const engine = await FlowEngine.create({ flows: RELEASE === '1' ? [Shipping] : [Delivery] })
const app = new Hono().route('/ai', flowRoutes(engine, { authorize: 'none' }))
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  const url = `http://127.0.0.1:${port}`
  console.log(`Release ${RELEASE}: POST ${url}/ai/run, POST ${url}/ai/end`)
})

process.on('SIGTERM', async () => {
  const stopped = new Promise((resolve) => server.close(resolve))
  await engine.close()
  await stopped
})
