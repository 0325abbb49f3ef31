/**
 * A process that answers anonymous requests with large messages, each in a new session, over the memory store. It
 * reports how many it has answered and what is left; what ends it by its heap is seen from outside.
 */
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply } from '../../../src/index.js'

/** What the process has to do. */
export interface MemoryTask {
  readonly requests: number
  /** Whether the store has its own default of `maxBytes`, or no bound. */
  readonly bounded: boolean
}

/** What it reports. */
export interface MemoryReport {
  readonly answered: number
  readonly evicted: number
  /** Whether the session that was there before the requests can still be continued. */
  readonly isFirstKept: boolean
  /** Bytes, after a collection. */
  readonly heapUsed: number
}

class Listen extends LogicStep {
  static override readonly id = 'Listen'
  override run() {
    return reply('I see.')
  }
}

class Talk extends Flow {
  static override readonly id = 'Talk'
  override steps() {
    return [Listen]
  }
}

/** Close to the limit of a message. One letter of it makes an engine keep all of them in two bytes each. */
const message = `€${'a'.repeat(250_000)}`
const atOnce = 20

async function answer({ requests, bounded }: MemoryTask): Promise<MemoryReport> {
  const sessionStore = new MemorySessionStore(bounded ? {} : { maxBytes: Number.POSITIVE_INFINITY })
  const engine = new FlowEngine({ flows: [Talk], sessionStore })
  const handle = createFetchHandler(engine)
  let evicted = 0
  let answered = 0
  engine.on('session:evicted', () => evicted++)
  const first = await engine.run({ flowName: 'Talk', userMessage: 'Here before the others.' })
  const send = async (number: number): Promise<void> => {
    // Each message is a different text.
    const body = JSON.stringify({ flowName: 'Talk', message: `${number} ${message}` })
    const headers = { 'Content-Type': 'application/json' }
    const response = await handle(new Request('http://localhost/ai/run', { method: 'POST', headers, body }))
    if (response.status === 200 && (await response.text()).includes('I see.')) answered++
  }
  for (let start = 0; start < requests; start += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => send(start + index)))
  }
  globalThis.gc?.()
  const { heapUsed } = process.memoryUsage()
  const isFirstKept = (await engine.getSession(first.session)) !== undefined
  await engine.close()
  return { answered, evicted, isFirstKept, heapUsed }
}

process.once('message', (task) => {
  void answer(task as MemoryTask).then((report) => process.send?.(report, () => process.exit(0)))
})
