// The HTTP cases over a real Node server. Some faults show only here: the server replaces the global `Response`, and a
// bad header fails when it is written.
import { Hono } from 'hono'
import { afterEach, describe, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { flowRoutes } from '../../../adapters/hono/index.js'
import { httpCases } from './cases.js'
import { type RunningServer, startServer } from './node-server.js'
import type { Serve } from './serve.js'

const running: RunningServer[] = []

afterEach(async () => {
  for (const server of running.splice(0)) await server.close()
})

type Fetch = (request: Request) => Response | Promise<Response>

function serveWith(createFetch: (...parameters: Parameters<Serve>) => Fetch): Serve {
  return async (engine, options) => {
    const server = await startServer(createFetch(engine, options))
    running.push(server)
    return (path, init) => fetch(`http://127.0.0.1:${server.port}/ai${path}`, init)
  }
}

describe('a Node server with the Hono app', () => {
  httpCases(
    test,
    serveWith((engine, options) => new Hono().route('/ai', flowRoutes(engine, options)).fetch),
  )
})

describe('a Node server with the Fetch handler', () => {
  httpCases(
    test,
    serveWith((engine, options) => createFetchHandler(engine, options)),
  )
})
