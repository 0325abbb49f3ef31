/**
 * A shop's help: a refund over 100 waits for a manager. The customer may go on asking meanwhile, and may withdraw.
 *
 * Work in an event is named after `turn.event.id`, not `turn.number`: if the event meets a turn of another process, it
 * runs again as the next turn, and must find what it has done.
 */
import { event, Flow, finish, go, LogicStep, reply, type Turn } from 'turnkeeper'
import { z } from 'zod'
import { managers, officeOf } from './office.js'

/** Milliseconds. */
export const day = 86_400_000
/** What is paid without a manager. */
const mostUnasked = 100

class Desk extends LogicStep {
  static override readonly id = 'Desk'
  override async run(turn: Turn) {
    const { message } = turn
    if (message === 'bye') return finish('Goodbye.')
    const amount = Number(/^refund (\d+)$/.exec(message)?.[1])
    if (amount > mostUnasked) return go(Approval).withState({ amount })
    return reply(amount > 0 ? await pay(turn, amount, `${turn.number}`) : answerTo(message))
  }
}

class Approval extends LogicStep<{ amount: number }> {
  static override readonly id = 'Approval'

  override events() {
    const { amount } = this.state
    return [
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        async execute({ approved }, turn) {
          const by = turn.event?.by ?? 'A manager'
          if (!approved) return go(Desk).withReply(`${by} has declined your refund of ${amount}.`)
          return go(Desk).withReply(`${by} has agreed. ${await pay(turn, amount, `${turn.event?.id}`)}`)
        },
      }),
      event({ name: 'remind', after: 2 * day, execute: (_, turn) => askManagers(turn, amount, 'Reminder') }),
      event({
        name: 'expired',
        after: 7 * day,
        execute: () => go(Desk).withReply('Nobody has decided about your refund within a week. Please ask again.'),
      }),
    ]
  }

  override async run(turn: Turn) {
    const { amount } = this.state
    if (turn.entered) {
      await askManagers(turn, amount, 'Request')
      return reply(`A refund of ${amount} needs a manager. I have asked, and you can go on asking me things.`)
    }
    if (turn.message === 'withdraw') return go(Desk).withReply('Your request is withdrawn.')
    return reply(`${answerTo(turn.message)} Your refund still waits for a manager; "withdraw" takes it back.`)
  }
}

/** The events of the flow are welcome in each of its steps. */
export class Help extends Flow {
  static override readonly id = 'Help'

  override steps() {
    return [Desk, Approval]
  }

  override events() {
    return [
      event({
        name: 'shipped',
        input: z.object({ order: z.string(), parcel: z.string() }),
        execute: ({ order, parcel }) => reply(`Order ${order} is on its way: parcel ${parcel}.`),
      }),
      event({ name: 'silent', silence: day, execute: () => reply('I am still here if you need me.') }),
    ]
  }
}

/** Sends each manager a mail with a link of their own, once. */
async function askManagers(turn: Turn, amount: number, subject: string): Promise<void> {
  const { mails, tickets } = officeOf(turn)
  for (const { id, name } of managers) {
    const ticket = await tickets.seal(turn, 'decision', { by: name, byId: id, about: { amount } })
    await turn.once(`${subject}:${turn.event?.id ?? turn.number}:${id}`, ({ idempotencyKey }) =>
      mails.send({ to: name, subject, ticket, key: idempotencyKey }),
    )
  }
}

async function pay(turn: Turn, amount: number, name: string): Promise<string> {
  await turn.once(`pay:${name}`, ({ idempotencyKey }) => officeOf(turn).payouts.send(amount, idempotencyKey))
  return `${amount} is on its way to you.`
}

function answerTo(message: string): string {
  return /open/.test(message) ? 'We are open from 9 to 5.' : 'Ask me when we are open, or say "refund 80".'
}
