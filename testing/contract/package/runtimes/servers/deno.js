// Deno's own server.
import { createApp } from './app.js'

const handle = createApp()
Deno.serve(
  {
    port: 0,
    hostname: '127.0.0.1',
    onListen: ({ port }) => console.log(JSON.stringify({ port, version: Deno.version.deno })),
  },
  (request) => handle(request),
)
