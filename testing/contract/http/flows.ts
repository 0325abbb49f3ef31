// Small flows for the HTTP cases: each shows one thing that a reply can be. They are real flows on the real engine.
import { Flow, finish, go, LogicStep, reply, type Transition, type Turn } from '../../../src/index.js'

/** Asks for a name, then for a town, then ends: three turns. */
class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn): Transition {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message
    return go(AskTown)
  }
}

class AskTown extends LogicStep {
  static override readonly id = 'AskTown'
  override run(turn: Turn): Transition {
    if (turn.entered) return reply('Where do you live?')
    return finish(`${turn.stateOf(AskName).name} of ${turn.message}.`)
  }
}

export class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps(): (typeof AskName | typeof AskTown)[] {
    return [AskName, AskTown]
  }
}

/** Answers with the content type that the message names, and with the text after it: `text/csv a,b`. */
class SayTyped extends LogicStep {
  static override readonly id = 'SayTyped'
  override run(turn: Turn): Transition {
    const [contentType = '', ...words] = turn.message.split(' ')
    if (contentType === 'fail') throw new Error('The report could not be made.')
    if (contentType === 'end') return finish(words.join(' ')).withContentType('text/csv')
    return reply(words.join(' ')).withContentType(contentType)
  }
}

export class Typed extends Flow {
  static override readonly id = 'Typed'
  override steps(): (typeof SayTyped)[] {
    return [SayTyped]
  }
}

/** The eight bytes that every PNG begins with. */
class SendBytes extends LogicStep {
  static override readonly id = 'SendBytes'
  override run(): Transition {
    return reply('iVBORw0KGgo=').withContentType('image/png', { encoding: 'base64' })
  }
}

export class Bytes extends Flow {
  static override readonly id = 'Bytes'
  override steps(): (typeof SendBytes)[] {
    return [SendBytes]
  }
}

/** Answers with its context as JSON text. */
class SayContext extends LogicStep {
  static override readonly id = 'SayContext'
  override run(turn: Turn): Transition {
    return reply(turn.context)
  }
}

export class Context extends Flow {
  static override readonly id = 'Context'
  override steps(): (typeof SayContext)[] {
    return [SayContext]
  }
}

/** Waits until its turn is cancelled, and reports to the test when it waits and why it stopped. */
class Wait extends LogicStep {
  static override readonly id = 'Wait'
  override async run(turn: Turn): Promise<Transition> {
    const { onWaiting } = turn.services as WaitingServices
    await new Promise<void>((resolve) => {
      turn.signal.addEventListener('abort', () => resolve())
      onWaiting?.(turn.signal)
    })
    return reply('Stopped.')
  }
}

export class Waiting extends Flow {
  static override readonly id = 'Waiting'
  override steps(): (typeof Wait)[] {
    return [Wait]
  }
}

/** The service of {@link Waiting}. */
export interface WaitingServices {
  readonly onWaiting?: (signal: AbortSignal) => void
}

/** All of them, in the order in which they are registered. */
export const flows: readonly (typeof Greeting | typeof Typed | typeof Bytes | typeof Context | typeof Waiting)[] = [
  Greeting,
  Typed,
  Bytes,
  Context,
  Waiting,
]
