/**
 * The support desk of a shop for plants and teapots: a model step and its tools, and two side flows. What to look at:
 *
 * - Schemas are module constants: they are built once, and their JSON Schema with them.
 * - Arguments reach a tool validated. If they are wrong, the model gets the reason, not the user.
 * - A tool returns a value (the model goes on), throws a `ToolError` (the model tries something else) or returns a
 *   transition (the conversation moves).
 * - `call` remembers where the conversation was: a return (`returns.ts`) and a question in between (`Hours`) lead back.
 * - The model words the answer about an order, and the flow puts a card with the facts beside it.
 * - `onReply` reads the answer before it counts, and may make the model answer again. With `stream` a reader of the
 *   stream has seen the answer by then, and gets a `reset`.
 * - Customers write on before they are answered. With `busy = 'queue'` each message waits for the reply to the one
 *   before it, and every one is answered.
 */
import { back, call, Flow, finish, LogicStep, reply, retry, Step, ToolError, type Turn, tool } from 'turnkeeper'
import { card } from 'turnkeeper/parts'
import { z } from 'zod'
import type { Order } from '../services/orders.js'
import { memory, Reason, requireOrder, TakeReturn } from './returns.js'

const OrderQuestion = z.object({
  orderNumber: z.string().regex(/^FK-\d{4}$/, 'An order number looks like FK-1042'),
})

export class Desk extends Step {
  static override readonly id = 'Desk'
  override readonly memory = memory
  override readonly stream = true

  override prompt() {
    return 'You answer for Fern & Kettle, a shop for house plants and teapots. Look up what you do not know.'
  }

  override tools() {
    return [
      tool({
        name: 'start_return',
        description: 'Open the return form for a delivered order.',
        input: OrderQuestion,
        execute: ({ orderNumber }, turn) => {
          const { state } = requireOrder(turn, orderNumber)
          if (state !== 'delivered')
            throw new ToolError(`Order ${orderNumber} is ${state}; only delivered ones go back.`)
          return call(TakeReturn, { state: { orderNumber } }).withFeedback('The return form is open.')
        },
      }),
      tool({
        name: 'end_conversation',
        description: 'Say goodbye, once the customer needs nothing more.',
        execute: () => finish('Thank you for writing to Fern & Kettle. Goodbye!'),
      }),
    ]
  }

  override onReply(text: string, turn: Turn) {
    if (/money back|refund.* today/i.test(text)) return retry('Never promise a refund: the accounts team decides.')
    const order = turn.transient.get('order') as Order | undefined
    return order === undefined ? text : reply(text).withParts([cardOf(order)])
  }
}

function cardOf({ orderNumber, items, state }: Order) {
  const rows = items.map((item): [string, string] => ['Item', item])
  return card({ title: `Order ${orderNumber}`, rows: [['State', state], ...rows] })
}

/** A question in between. What was asked before is asked again, in the same reply. */
class Hours extends LogicStep {
  static override readonly id = 'Hours'
  override run() {
    return back().withLead('We are here from Monday to Friday, 9 to 17.')
  }
}

export class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  static override readonly busy = 'queue'

  override model() {
    return this.services.deskModel ?? { provider: 'local', name: 'desk-1' }
  }

  override steps() {
    return [Desk, TakeReturn, Reason, Hours]
  }

  override onMessage({ message }: Turn) {
    return /opening hours|when .*\bopen\b/i.test(message) ? call(Hours) : undefined
  }

  /** Offered in every step of the flow. */
  override tools() {
    return [
      tool({
        name: 'look_up_order',
        description: 'Find an order by its number: what is in it, and how far it is.',
        input: OrderQuestion,
        execute: ({ orderNumber }, turn) => {
          const order = requireOrder(turn, orderNumber)
          turn.transient.set('order', order)
          return { ...order }
        },
      }),
      tool({
        name: 'track_parcel',
        description: 'Ask the carrier where the parcel of an order is.',
        input: OrderQuestion,
        execute: async ({ orderNumber }, turn, { signal }) => {
          requireOrder(turn, orderNumber)
          return { orderNumber, place: await turn.services.parcels.locate(orderNumber, signal) }
        },
      }),
    ]
  }
}
