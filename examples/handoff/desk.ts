/**
 * A desk where a model answers until the user wants a person. Then a colleague does, from an inbox, and gives the
 * conversation back.
 */
import { event, Flow, go, LogicStep, reply, Step, type Turn, tool } from 'turnkeeper'
import { z } from 'zod'
import { inboxOf } from './inbox.js'

/** Milliseconds. */
export const patience = 10 * 60_000

class Talk extends Step {
  static override readonly id = 'Talk'
  override prompt() {
    return 'You answer questions about a small museum. If the user wants a person, call hand_over.'
  }
  override tools() {
    return [
      tool({
        name: 'hand_over',
        description: 'Hands the conversation over to a colleague.',
        input: z.object({}),
        execute: () => go(Colleague),
      }),
    ]
  }
}

class Colleague extends LogicStep<{ posted?: string }> {
  static override readonly id = 'Colleague'
  /** What is said here is remembered with what was said to the model. */
  override readonly memory = 'Talk'

  override events() {
    return [
      event({
        name: 'says',
        input: z.object({ text: z.string().min(1) }),
        execute({ text }, turn) {
          turn.setTimer('unanswered', undefined)
          return reply(text)
        },
      }),
      event({ name: 'gives-back', execute: (_, turn) => giveBack(turn, 'You are talking to the assistant again.') }),
      event({
        name: 'unanswered',
        after: patience,
        execute: (_, turn) => giveBack(turn, 'Nobody is free at the moment, so I go on helping you.'),
      }),
    ]
  }

  override async run(turn: Turn) {
    const { message, number } = turn
    // A session keeps the results of 64 names.
    if (this.state.posted !== undefined) turn.forget(this.state.posted)
    const posted = `post:${number}:${message.slice(0, 100)}`
    this.state.posted = posted
    await turn.once(posted, ({ idempotencyKey }) => inboxOf(turn).post(idempotencyKey, turn))
    return turn.entered ? reply('I have called a colleague, who answers here.') : reply()
  }
}

async function giveBack(turn: Turn, text: string) {
  await inboxOf(turn).close(turn.session.id)
  return go(Talk).withReply(text)
}

export class Desk extends Flow {
  static override readonly id = 'Desk'
  override model() {
    return { provider: 'museum', name: 'guide' }
  }
  override steps() {
    return [Talk, Colleague]
  }
}
