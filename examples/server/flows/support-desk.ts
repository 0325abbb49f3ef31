/**
 * The support desk of a shop for plants and teapots: two model steps and their tools. What to look at:
 *
 * - Schemas are module constants: they are built once, and their JSON Schema with them.
 * - Arguments reach a tool validated. If they are wrong, the model gets the reason, not the user.
 * - A tool returns a value (the model goes on), throws a `ToolError` (the model tries something else) or returns a
 *   transition (the conversation moves).
 * - Both steps share one memory, so the second remembers the first.
 * - `onReply` reads the answer before it counts, and may make the model answer again. With `stream` a reader of the
 *   stream has seen the answer by then, and gets a `reset`.
 * - Customers write on before they are answered. With `busy = 'queue'` each message waits for the reply to the one
 *   before it, and every one is answered.
 * - A prompt with values is a `promptTemplate`: a missing or misspelt value does not compile.
 */
import { Flow, finish, go, retry, Step, ToolError, type Turn, tool } from 'turnkeeper'
import { promptTemplate } from 'turnkeeper/prompt'
import { z } from 'zod'
import type { Order } from '../services/orders.js'

const OrderQuestion = z.object({
  orderNumber: z.string().regex(/^FK-\d{4}$/, 'An order number looks like FK-1042'),
})

const ReturnForm = z.object({
  item: z.string().min(1),
  reason: z.enum(['damaged', 'wrong item', 'changed my mind']),
})

const takeReturn = promptTemplate(`
  Ask which item goes back and why, then call record_return.
  Items: {{items}}
`)

const memory = 'desk'

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
          return go(TakeReturn).withState({ orderNumber }).withFeedback('The return form is open.')
        },
      }),
      tool({
        name: 'end_conversation',
        description: 'Say goodbye, once the customer needs nothing more.',
        execute: () => finish('Thank you for writing to Fern & Kettle. Goodbye!'),
      }),
    ]
  }

  override onReply(text: string) {
    return /money back|refund.* today/i.test(text) ? retry('Never promise a refund: the accounts team decides.') : text
  }
}

export class TakeReturn extends Step<{ orderNumber: string }> {
  static override readonly id = 'TakeReturn'
  override readonly memory = memory

  override initialState() {
    return { orderNumber: '' }
  }

  override prompt(turn: Turn) {
    const { items } = requireOrder(turn, this.state.orderNumber)
    return takeReturn({ items: items.join('; ') })
  }

  override tools() {
    return [
      tool({
        name: 'record_return',
        description: 'Record which item of the order goes back, and why.',
        input: ReturnForm,
        execute: ({ item, reason }, turn) => {
          const { orderNumber } = this.state
          const { items } = requireOrder(turn, orderNumber)
          if (!items.includes(item)) throw new ToolError(`The order has: ${items.join('; ')}.`)
          const number = turn.services.orders.openReturn({ orderNumber, item, reason })
          return go(Desk).withReply(
            `Return ${number} is open: ${item}, ${reason}. The label is in your mail. Anything else?`,
          )
        },
      }),
    ]
  }
}

export class SupportDesk extends Flow {
  static override readonly id = 'SupportDesk'
  static override readonly busy = 'queue'

  override model() {
    return this.services.deskModel ?? { provider: 'local', name: 'desk-1' }
  }

  override steps() {
    return [Desk, TakeReturn]
  }

  /** Offered in every step of the flow. */
  override tools() {
    return [
      tool({
        name: 'look_up_order',
        description: 'Find an order by its number: what is in it, and how far it is.',
        input: OrderQuestion,
        execute: ({ orderNumber }, turn) => {
          const { items, state } = requireOrder(turn, orderNumber)
          return { orderNumber, items, state }
        },
      }),
      tool({
        name: 'track_parcel',
        description: 'Ask the carrier where the parcel of an order is.',
        input: OrderQuestion,
        execute: async ({ orderNumber }, turn, call) => {
          requireOrder(turn, orderNumber)
          return { orderNumber, place: await turn.services.parcels.locate(orderNumber, call.signal) }
        },
      }),
    ]
  }
}

function requireOrder(turn: Turn, orderNumber: string): Order {
  const order = turn.services.orders.find(orderNumber)
  if (order === undefined) throw new ToolError(`There is no order ${orderNumber}.`)
  return order
}
