/**
 * One server process: an engine over the store, served over HTTP as an application would. It may be killed at any
 * moment. Started by serve-in-processes.ts.
 */
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import type { SessionDocument } from '../../../src/index.js'
import { startServer } from '../http/node-server.js'
import { type Journal, openJournal } from '../storm/journal.js'
import { openStore, type StoreOrder } from '../storm/open-store.js'
import { Talk, talkEngine } from '../storm/talk.js'
import { InterruptedTalk, RolledBackTalk, refundTalk, SummarizedTalk } from './retry-flows.js'

/** The first message to a worker. */
export interface RetryOrder {
  readonly name: string
  readonly store: StoreOrder
  readonly journal: string
  /** The address of the service that does the work of `RefundTalk`. Default: that flow is not used. */
  readonly service?: string
}

/** A later message to a worker. */
export type RetryMessage = { readonly read: readonly string[] } | 'finish' | 'go on'

/** The reports of a worker: its URL, what it has read, or that a turn waits for `go on`. */
export interface RetryReport {
  readonly port?: number
  readonly documents?: readonly SessionDocument[]
  readonly error?: string
  readonly isWaiting?: true
}

function report(content: RetryReport): void {
  process.send?.(content)
}

/** Holds a turn until the test says that it goes on. */
function pauseTurn(): Promise<void> {
  return new Promise((resolve) => {
    const listen = (message: RetryMessage): void => {
      if (message !== 'go on') return
      process.off('message', listen)
      resolve()
    }
    process.on('message', listen)
    report({ isWaiting: true })
  })
}

async function serve(order: RetryOrder, journal: Journal): Promise<void> {
  let made = 0
  const engine = talkEngine(await openStore(order.store), true, {
    flows: [Talk, RolledBackTalk, SummarizedTalk, InterruptedTalk, refundTalk(order.service ?? '', pauseTurn)],
    generateId(kind) {
      const id = `${order.name}-${kind}-${++made}`
      if (kind === 'session') journal.write({ kind: 'made', session: id })
      return id
    },
  })
  const handler = createFetchHandler(engine)
  const server = await startServer((request) => handler(request))
  const finish = async (): Promise<void> => {
    await server.close()
    await engine.close()
    // From here on it must end by itself: what keeps it alive was left behind by the engine or the store.
    process.off('disconnect', onDisconnect)
    process.disconnect()
  }
  process.on('message', async (message: RetryMessage) => {
    if (message === 'go on') return
    if (message === 'finish') return finish()
    try {
      const documents: SessionDocument[] = []
      for (const id of message.read) {
        const document = await engine.getSession(id)
        if (document !== undefined) documents.push(document)
      }
      report({ documents })
    } catch (error) {
      report({ error: String(error) })
    }
  })
  report({ port: server.port })
}

// No client is left to serve.
const onDisconnect = (): void => process.exit()
process.on('disconnect', onDisconnect)

process.once('message', async (order: RetryOrder) => {
  const journal = openJournal(order.journal)
  const onUnhandled = (error: unknown): void => {
    journal.write({ kind: 'unhandled', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
  process.on('unhandledRejection', onUnhandled)
  process.on('uncaughtException', onUnhandled)
  await serve(order, journal)
})
