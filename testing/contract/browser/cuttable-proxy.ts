/// <reference types="node" />
// The network between a browser and a server, controlled by a test, which can cut connections, make the server
// unreachable, and lose replies.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy before one server. */
export interface CuttableProxy {
  readonly origin: string
  /** Cuts every connection and refuses new ones, until `up()`. */
  down(): void
  up(): void
  /** From now on requests pass, but connections are cut before the reply comes back, until `up()`. */
  loseReplies(): void
  close(): Promise<void>
}

/** Starts a proxy before the server of an origin. */
export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  let state: 'up' | 'down' | 'loses replies' = 'up'
  const clients = new Set<Socket>()
  const server: Server = createServer((client) => {
    if (state === 'down') {
      client.destroy()
      return
    }
    const upstream = connect(Number(new URL(target).port), '127.0.0.1')
    clients.add(client)
    client.pipe(upstream)
    upstream.on('data', (data) => {
      if (state === 'loses replies') client.destroy()
      else client.write(data)
    })
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.end())
    client.on('error', () => undefined)
    client.on('close', () => {
      clients.delete(client)
      upstream.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const client of clients) client.destroy()
  }
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    down() {
      state = 'down'
      cut()
    },
    up() {
      state = 'up'
    },
    loseReplies() {
      state = 'loses replies'
    },
    async close() {
      cut()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}
