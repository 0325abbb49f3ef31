// Bun's own server. A stream that says nothing for `idleTimeout` seconds would be cut: 10 unless it is set.
import { createApp } from './app.js'

const handle = createApp()
const { port } = Bun.serve({ fetch: (request) => handle(request), port: 0, hostname: '127.0.0.1', idleTimeout: 60 })
console.log(JSON.stringify({ port, version: Bun.version }))
