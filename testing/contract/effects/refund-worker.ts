/**
 * One server process with a flow that refunds an order once. It is killed in the middle of a turn.
 * Started by refund.test.ts.
 */
import { Flow, FlowEngine, LogicStep, reply, type StepConstructor, type Turn } from '../../../src/index.js'
import { openStore, type StoreOrder } from '../storm/open-store.js'

/** The first message to a worker. */
export interface RefundOrder {
  readonly store: StoreOrder
  /** The address of the refund service. */
  readonly service: string
}

/** A later message to a worker: what the user says. */
export interface RefundMessage {
  readonly text: string
  /** Default: a new session. */
  readonly session?: string
}

/** What a worker reports. */
export type RefundReport =
  | { readonly kind: 'ready' | 'refunded' | 'uncertain' }
  | { readonly kind: 'answered'; readonly session: string; readonly text: string; readonly events: readonly string[] }

function report(message: RefundReport): void {
  process.send?.(message)
}

let service = ''

class Order extends LogicStep {
  static override readonly id = 'Order'
  override async run(turn: Turn) {
    if (!turn.message.startsWith('Refund')) return reply('Hello.')
    const refund = await turn.once('refund:7', async ({ idempotencyKey, uncertain }) => {
      const address = `${service}/refunds/${idempotencyKey}`
      if (uncertain) {
        report({ kind: 'uncertain' })
        const found = await fetch(address)
        if (found.ok) return found.text()
      }
      return (await fetch(address, { method: 'POST' })).text()
    })
    report({ kind: 'refunded' })
    // The process is killed here.
    if (turn.message === 'Refund it, and wait.') await new Promise(() => undefined)
    return reply(refund)
  }
}

class Refunds extends Flow {
  static override readonly id = 'Refunds'
  override steps(): readonly StepConstructor[] {
    return [Order]
  }
}

process.once('message', async (order: RefundOrder) => {
  service = order.service
  const engine = new FlowEngine({ flows: [Refunds], sessionStore: await openStore(order.store) })
  const events: string[] = []
  engine.on('effect:uncertain', ({ effect, attempt }) => events.push(`${effect} begun ${attempt} times`))
  process.on('message', async ({ text, session }: RefundMessage) => {
    const input = { flowName: 'Refunds', userMessage: text }
    const response = await engine.run(session === undefined ? input : { ...input, sessionId: session })
    report({ kind: 'answered', session: response.session, text: response.message, events })
  })
  process.once('disconnect', () => process.exit())
  report({ kind: 'ready' })
})
