/** Serves a Fetch handler on 127.0.0.1, and needs only Node.js. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

type Fetch = (request: Request) => Promise<Response>

/**
 * @param port - 0: a free one.
 * @internal
 */
export async function listen(fetch: Fetch, port: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => void answer(fetch, incoming, outgoing))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { port: (server.address() as AddressInfo).port, close }
}

async function answer(fetch: Fetch, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  try {
    const { method = 'GET', headers, url = '/' } = incoming
    const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(incoming)
    const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const asked = { method, headers: given, body, duplex: 'half' } as RequestInit
    const response = await fetch(new Request(`http://${headers.host}${url}`, asked))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    if (response.body === null) outgoing.end()
    else await pipeline(Readable.fromWeb(response.body as never), outgoing)
  } catch {
    // A request that is none, or a client that has left.
    if (!outgoing.headersSent) outgoing.writeHead(400)
    outgoing.end()
  }
}
