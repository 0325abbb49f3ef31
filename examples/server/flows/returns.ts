/**
 * The return of an order's item, a side flow: it gives the conversation back to the step that called it. What to look at:
 *
 * - The model reads which item goes back, and the reason if the customer has given one. If not, `Reason` offers buttons.
 * - A button, or a text that says the same, is `turn.choice`. Any other answer goes to the model, which understands it.
 * - `back().withReply` answers without running the step that called, so that no model changes the confirmation.
 * - A prompt with values is a `promptTemplate`: a missing or misspelt value does not compile.
 */
import { back, go, LogicStep, reply, Step, ToolError, type Turn, tool } from 'turnkeeper'
import { choices } from 'turnkeeper/parts'
import { promptTemplate } from 'turnkeeper/prompt'
import { z } from 'zod'
import type { Order, Return } from '../services/orders.js'

/** What the customer said here, and at the desk. */
export const memory = 'desk'

const ReturnForm = z.object({
  item: z.string().min(1),
  reason: z.enum(['damaged', 'wrong item', 'changed my mind']).optional().describe('Only if the customer gave one.'),
})

const reasons = choices('reason', [
  { value: 'damaged', label: 'It came damaged' },
  { value: 'wrong item', label: 'It is the wrong item' },
  { value: 'changed my mind', label: 'I changed my mind' },
])

const takeReturn = promptTemplate(`
  Ask which item goes back, then call record_return.
  Items: {{items}}
`)

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
          if (reason === undefined) return go(Reason).withState({ orderNumber, item })
          return openReturn(turn, { orderNumber, item, reason })
        },
      }),
    ]
  }
}

export class Reason extends LogicStep<{ orderNumber: string; item: string }> {
  static override readonly id = 'Reason'
  override readonly memory = memory

  override initialState() {
    return { orderNumber: '', item: '' }
  }

  override run(turn: Turn) {
    const { item } = this.state
    const question = `Why does the ${item} go back: damaged, wrong item, or changed your mind?`
    if (turn.entered) return reply(question).withParts([reasons])
    return turn.choice === undefined ? go(TakeReturn) : openReturn(turn, { ...this.state, reason: turn.choice.value })
  }
}

function openReturn(turn: Turn, wanted: Return) {
  const number = turn.services.orders.openReturn(wanted)
  return back().withReply(
    `Return ${number} is open: ${wanted.item}, ${wanted.reason}. The label is in your mail. Anything else?`,
  )
}

export function requireOrder(turn: Turn, orderNumber: string): Order {
  const order = turn.services.orders.find(orderNumber)
  if (order === undefined) throw new ToolError(`There is no order ${orderNumber}.`)
  return order
}
