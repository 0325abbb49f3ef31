// A flow with everything that the studio shows: prompts, tools, events, timers, called flows, all parts, files and errors.
import { z } from 'zod'
import {
  back,
  call,
  event,
  Flow,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type Turn,
  tool,
} from '../../../src/index.js'
import { card, choices, custom, file, form } from '../../../src/parts/index.js'

const hour = 3_600_000

class Ask extends Step<{ order?: string }> {
  static override readonly id = 'Ask'
  static override readonly next = ['Refund', 'Hours', 'Farewell']
  override prompt() {
    return 'You work for an orchid shop.\nFind the order, then refund it.'
  }
  override model() {
    return { provider: 'any', name: 'small' }
  }
  override tools() {
    const input = z.object({ order: z.string().describe('The number of the order.') })
    return [
      tool({
        name: 'look_up',
        description: 'Finds an order.',
        input,
        execute: ({ order }) => ({
          order,
          plant: 'Phalaenopsis',
          price: 24.5,
          place: 'on the third shelf by the window',
        }),
      }),
      tool({
        name: 'take',
        description: 'Keeps the order.',
        input,
        execute: ({ order }) => {
          this.state.order = order
          return go(Refund)
        },
      }),
    ]
  }
}

class Refund extends LogicStep<{ paid?: number }> {
  static override readonly id = 'Refund'
  static override readonly next = ['Farewell', 'Address']
  override events() {
    return [
      event({
        name: 'decision',
        input: z.object({
          approved: z.boolean().default(false).meta({ title: 'Approved' }),
          amount: z.number().min(1),
          reason: z.enum(['damaged', 'late']),
        }),
        execute: ({ approved, amount }) => reply(approved ? `${amount} are on their way.` : 'Sorry, no refund.'),
      }),
      event({ name: 'feedback', byUser: true, input: z.json(), execute: (said) => reply(JSON.stringify(said)) }),
      event({ name: 'details', byUser: true, execute: () => reply('Thank you for the details.') }),
      event({ name: 'remind', after: hour, execute: () => reply('Are you still there?') }),
    ]
  }
  override async run(turn: Turn) {
    const said = shown[turn.message]
    if (said !== undefined) return said()
    if (turn.message === 'pay') this.state.paid = await turn.once('refunds.create', () => 24.5)
    if (turn.message === 'fail') throw new Error('The bank is closed.')
    if (turn.message === 'bye') return finish('Goodbye.')
    if (turn.message === 'move') return call(Address)
    return reply(`Refund. Paid: ${this.state.paid ?? 0}.`)
  }
}

/** A reply for each way of showing one. */
const shown: Readonly<Record<string, () => ReturnType<typeof reply>>> = {
  parts: () =>
    reply('How shall we refund it?').withParts([
      choices('way', [
        { value: 'card', label: 'To your card' },
        { value: 'voucher', label: 'As a voucher' },
      ]),
      card({
        title: 'Order A-17',
        rows: [
          ['Plant', 'Phalaenopsis'],
          ['Price', '24.50'],
        ],
      }),
      file({ name: 'receipt.pdf', mediaType: 'application/pdf', url: 'https://files.shop.example/receipt.pdf' }),
      custom('shelf', { row: 3, plants: ['Phalaenopsis', 'Cattleya'] }),
      form({
        name: 'details',
        schema: {
          type: 'object',
          title: 'Details',
          properties: { email: { type: 'string', format: 'email', title: 'E-mail' }, gift: { type: 'boolean' } },
          required: ['email'],
        },
      }),
    ]),
  html: () => reply('<h1>Hello</h1><script>parent.hacked = 1; alert(1)</script>').withContentType('text/html'),
  svg: () =>
    reply('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><circle r="9"/></svg>').withContentType(
      'image/svg+xml',
    ),
}

class Hours extends LogicStep {
  static override readonly id = 'Hours'
  override run() {
    return back().withLead('We are open from 9 to 5.')
  }
}

class Street extends LogicStep<{ street?: string }> {
  static override readonly id = 'Street'
  override run(turn: Turn) {
    if (turn.entered) return reply('Which street?')
    this.state.street = turn.message
    return finish(`To ${turn.message}.`)
  }
}

class Address extends Flow {
  static override readonly id = 'Address'
  override steps() {
    return [Street]
  }
}

class Farewell extends LogicStep {
  static override readonly id = 'Farewell'
  override run() {
    return finish('Goodbye.')
  }
}

class OrchidShop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Ask, Refund, Hours, Farewell, Address]
  }
}

export const Shop: FlowConstructor = OrchidShop

const order = { order: 'A-17' }
const calls: Readonly<Record<string, string>> = { look: 'look_up', take: 'take' }
type Asked = { readonly messages: readonly { readonly role: string; readonly parts: readonly { text?: string }[] }[] }

/** Calls the tool that the user names, then speaks. */
export function script({ messages }: Asked): string | { toolCalls: object[] } {
  const last = messages.at(-1)
  const text = last?.parts[0]?.text ?? ''
  const name = last?.role === 'user' ? calls[text] : undefined
  return name === undefined ? `You said: ${text || 'nothing'}` : { toolCalls: [{ name, input: order }] }
}
