/** A refund that one of three decides: the manager's yes, the manager's no, or the customer who withdraws. */
import { z } from 'zod'
import { event, Flow, finish, go, LogicStep, reply, type StepConstructor, type Turn } from '../../../src/index.js'

class Decide extends LogicStep {
  static override readonly id = 'Decide'
  override events() {
    return [
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        async execute({ approved }, turn) {
          if (!approved) return finish('declined')
          await turn.once('pay', ({ idempotencyKey }) => idempotencyKey)
          return go(Paid)
        },
      }),
    ]
  }
  override run(turn: Turn) {
    return turn.message === 'withdraw' ? finish('withdrawn') : reply('waiting')
  }
}

class Paid extends LogicStep {
  static override readonly id = 'Paid'
  override run(turn: Turn) {
    return reply(turn.message === '' ? 'paid' : 'too late')
  }
}

/** The replies that decide. */
export const outcomes: readonly string[] = ['paid', 'declined', 'withdrawn']

/** The flow. */
export class Refund extends Flow {
  static override readonly id = 'Refund'
  override steps(): readonly StepConstructor[] {
    return [Decide, Paid]
  }
}
