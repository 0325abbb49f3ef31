/** The flow of the golden sessions. It is as old as they are: what it stores must not change, only grow. */
import {
  Flow,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../../src/index.js'

interface Notes {
  notes?: unknown
}

class Ask extends LogicStep<Notes> {
  static override readonly id = 'Ask'

  override run(turn: Turn): Transition {
    // What was stored may be damaged: that is not a fault of the flow.
    const notes = Array.isArray(this.state.notes) ? this.state.notes : []
    this.state.notes = [...notes, turn.message]
    return turn.message.startsWith('move ')
      ? go(Chat)
      : reply(`Noted: ${turn.message}`).withContentType('text/markdown')
  }
}

class Chat extends Step {
  static override readonly id = 'Chat'

  override prompt(): string {
    return 'Chat.'
  }

  override tools(): readonly Tool[] {
    return [tool({ name: 'note', description: 'Notes that it was called.', execute: () => ({ noted: true }) })]
  }
}

export class Golden extends Flow {
  static override readonly id = 'Golden'

  override model(): { provider: string; name: string } {
    return { provider: 'counting', name: 'counting' }
  }

  override steps(): readonly StepConstructor[] {
    return [Ask, Chat]
  }
}
