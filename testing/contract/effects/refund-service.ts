/**
 * A refund service of a test: it counts what it refunds, and need not answer. It does the same request
 * twice if it is asked twice.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The outcome of a request. */
export type Conduct = 'answers' | 'refunds and does not answer' | 'loses the request'

/** The service under a test's control. */
export interface RefundService {
  readonly address: string
  /** By idempotency key: how often it refunded. */
  readonly refunds: ReadonlyMap<string, number>
  conduct: Conduct
  /** Resolves when the next request for a refund has arrived. */
  nextRequest(): Promise<void>
  close(): Promise<void>
}

/** Starts the service on a free port of 127.0.0.1. */
export async function startRefundService(): Promise<RefundService> {
  const refunds = new Map<string, number>()
  let onRequest: (() => void) | undefined
  const refund = (key: string, response: ServerResponse): void => {
    if (service.conduct !== 'loses the request') refunds.set(key, (refunds.get(key) ?? 0) + 1)
    if (service.conduct === 'answers') response.end(`Refunded under ${key}.`)
    onRequest?.()
  }
  const server = createServer(({ url = '', method }, response) => {
    const key = url.slice('/refunds/'.length)
    if (method === 'POST') refund(key, response)
    else if (refunds.has(key)) response.end(`Refunded under ${key}.`)
    else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service: RefundService = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refunds,
    conduct: 'answers',
    nextRequest: () =>
      new Promise((resolve) => {
        onRequest = resolve
      }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return service
}
