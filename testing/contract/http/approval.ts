// A flow that waits for a decision, for the cases of events and tickets.
import { z } from 'zod'
import type { Tickets } from '../../../adapters/tickets/index.js'
import {
  event,
  Flow,
  type FlowEvent,
  finish,
  LogicStep,
  reply,
  type Transition,
  type Turn,
} from '../../../src/index.js'

/** The services of {@link Approval}: who seals the ticket of the mail, and what came of it. */
export interface ApprovalServices {
  readonly links?: Tickets
  ticket?: string
}

class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override events(): FlowEvent[] {
    return [
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        execute: ({ approved }, turn) => finish(`${approved ? 'Paid' : 'Turned down'} by ${turn.event?.by ?? 'you'}.`),
      }),
      event({ name: 'note', execute: () => undefined }),
      event({ name: 'choose', byUser: true, input: z.object({ day: z.string() }), execute: ({ day }) => reply(day) }),
      event({ name: 'seen', byUser: true, execute: () => undefined }),
      event({
        name: 'broken',
        execute: () => {
          throw new Error('The bank is closed.')
        },
      }),
    ]
  }
  override async run(turn: Turn): Promise<Transition> {
    const services = turn.services as ApprovalServices
    if (turn.message === 'withdraw') return finish('Withdrawn.')
    if (turn.entered && services.links !== undefined) {
      services.ticket = await services.links.seal(turn, 'decision', { by: 'Ada Meier', byId: 'emp-17' })
    }
    return reply('I have asked your manager.')
  }
}

export class Approval extends Flow {
  static override readonly id = 'Approval'
  override steps(): (typeof Ask)[] {
    return [Ask]
  }
}
