/**
 * The process that serves: both applications on real Node servers. It reports what goes wrong in it,
 * and the size of its heap.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Fault } from './faults.js'
import { collectHeap, reportProblems } from './heap.js'
import { type AppName, createServedApps, type FetchFunction } from './served-app.js'

/** The reports of the process: its URL, a problem, or the answer to `heap`. */
export type ServerMessage =
  | { readonly kind: 'ready'; readonly ports: Readonly<Record<AppName, number>> }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'heap'; readonly heapBytes: number; readonly turnsUnderWay: number }

function send(message: ServerMessage): void {
  process.send?.(message)
}

async function listen(fetch: FetchFunction): Promise<number> {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server
  // A connection of the fuzzer may rest while the heap is measured.
  server.keepAliveTimeout = 600_000
  if (!server.listening) await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const report = (text: string): void => send({ kind: 'problem', text })
reportProblems(report)
const { apps, turnsUnderWay } = createServedApps(report, (process.argv[2] || undefined) as Fault | undefined)

process.on('message', async () => {
  send({ kind: 'heap', heapBytes: await collectHeap(turnsUnderWay), turnsUnderWay: turnsUnderWay() })
})
process.on('disconnect', () => process.exit(0))

send({ kind: 'ready', ports: { strict: await listen(apps.strict), plain: await listen(apps.plain) } })
