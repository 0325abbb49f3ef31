/// <reference types="node" />
// Serves an app on a real socket, for tests: 127.0.0.1, a port of the system's choice, ended by its own handle.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'

/** A running server. */
export interface RunningServer {
  readonly port: number
  readonly close: () => Promise<void>
}

/** Starts a server for `fetch`. */
export async function startServer(
  fetch: (request: Request) => Response | Promise<Response>,
  serverOptions: { readonly maxHeaderSize?: number } = {},
): Promise<RunningServer> {
  const server = await new Promise<Server>((resolve) => {
    const starting = serve({ fetch, port: 0, hostname: '127.0.0.1', serverOptions }, () => resolve(starting as Server))
  })
  return runningServer(server)
}

/** A server that listens, as a running one: its port, and how it is ended with all its connections. */
export function runningServer(server: Server): RunningServer {
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
