// Node, with the server of Hono: the path to it is the first argument, because it is installed with the repository.
import { createApp } from './app.js'

const { serve } = await import(process.argv[2])
const handle = createApp()
const server = serve({ fetch: (request) => handle(request), port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  console.log(JSON.stringify({ port, version: process.versions.node }))
})
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
