// The carrier that the example asks about parcels: it answers at once, or keeps the questions of one
// process until it is released.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from '../servers/until.js'

/** See above. */
export interface Carrier {
  /** The address to which one process sends its requests. */
  urlFor(name: string): string
  /** From now on the questions of a process wait. Resolves when `count` do. */
  hold(name: string, count: number): Promise<void>
  /** How many questions wait. */
  waiting(): number
  /** Answers what waits, and from then on at once. */
  release(): void
  close(): Promise<void>
}

export async function startCarrier(): Promise<Carrier> {
  let held: string | undefined
  const waiting = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    if (held === undefined || !request.url?.startsWith(`/${held}/`)) return void response.end('at the door')
    waiting.add(response)
    response.once('close', () => waiting.delete(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    urlFor: (name) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
    async hold(name, count) {
      held = name
      await until(() => waiting.size >= count)
    },
    waiting: () => waiting.size,
    release() {
      held = undefined
      for (const response of waiting) response.end('at the door')
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
