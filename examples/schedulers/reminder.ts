/** The flow that the tests of this folder wake: it asks again after a while, without a message of its user. */
import { event, Flow, LogicStep, reply } from 'turnkeeper'

class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override events() {
    return [event({ name: 'remind', after: 1, execute: () => reply('Do you still want it?') })]
  }
  override run() {
    return reply('Do you want it?')
  }
}

export class Reminder extends Flow {
  static override readonly id = 'Reminder'
  override steps() {
    return [Ask]
  }
}

/** What a page shows after the reminder. */
export const reminded = ['Do you want it?', 'Do you still want it?']
