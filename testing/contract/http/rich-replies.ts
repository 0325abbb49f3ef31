// A flow whose reply has all five parts, for the cases of every channel.
import { z } from 'zod'
import {
  event,
  Flow,
  type FlowEvent,
  finish,
  LogicStep,
  type ReplyPart,
  reply,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { card, choices, custom, file, form } from '../../../src/parts/index.js'

const schema = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] }

/** What the reply has beside its text, as the flow makes it. */
export const madeParts: readonly ReplyPart[] = [
  choices('size', [
    { value: 's', label: 'Small' },
    { value: 'l', label: 'Large' },
  ]),
  card({ title: 'Order 4711', rows: [['Status', 'on its way']] }),
  form({ name: 'address', schema, values: { town: 'Bonn' }, errors: { town: 'No such town.' } }),
  file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example/4711' }),
  custom('map', { latitude: 52.5 }),
]

/** The same as clients get them from a turn. */
export function sentBy(turn: number): object[] {
  return madeParts.map((part) => (part.type === 'choices' ? { ...part, turn } : { ...part }))
}

class Order extends LogicStep {
  static override readonly id = 'Order'
  override events(): FlowEvent[] {
    return [
      event({
        name: 'address',
        byUser: true,
        input: z.object({ town: z.string() }),
        execute: ({ town }) => reply(`To ${town}.`),
      }),
    ]
  }
  override run({ entered, message, choice }: Turn): Transition {
    if (choice !== undefined) return finish(`You get ${choice.value}.`)
    return reply(entered || message === 'again' ? 'Which size?' : `There is no ${message}.`).withParts(madeParts)
  }
}

/** Asks for a size until it gets one. */
export class Ordering extends Flow {
  static override readonly id = 'Ordering'
  override steps(): (typeof Order)[] {
    return [Order]
  }
}
