// A flow that takes events, for the tests of the chat handlers: what each message and each event does.
import { z } from 'zod'
import { event, Flow, finish, LogicStep, reply, type StepConstructor, type Turn } from '../../src/index.js'

class Claim extends LogicStep {
  static override readonly id = 'Claim'
  override events() {
    return [
      event({ name: 'decision', execute: (_, turn) => reply(`Decided by ${turn.event?.by}.`) }),
      event({ name: 'close', execute: () => finish('Closed.') }),
      event({ name: 'note', execute: () => undefined }),
      event({
        name: 'size',
        byUser: true,
        input: z.object({ size: z.number() }),
        execute: ({ size }) => reply(`Size ${size}.`),
      }),
    ]
  }
  override run({ message }: Turn) {
    if (message === 'break') throw new Error('It broke.')
    if (message === 'bye') return finish('Bye.')
    return message === 'quiet' ? reply() : reply(`You said: ${message}`)
  }
}

/** `bye` ends it, `break` fails, `quiet` gets no reply; `decision`, `close` and the silent `note` come from a server. */
export class Claims extends Flow {
  static override readonly id = 'Claims'
  override steps(): readonly StepConstructor[] {
    return [Claim]
  }
}
