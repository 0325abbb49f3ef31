/** The conversations of the long sessions: a flow with one model step, one with sixteen memories, and their model. */
import {
  Flow,
  go,
  LogicStep,
  type Message,
  type ModelProviderAdapter,
  type ModelSelection,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'

const model: ModelSelection = { provider: 'brief', name: 'brief' }

/** A model that answers the length of its answer, and reports what it received. */
export function briefProvider(onRequest: (messages: readonly Message[]) => void): ModelProviderAdapter {
  return {
    provider: 'brief',
    resolve: (selection) => ({
      ...selection,
      generate: async ({ messages }) => {
        onRequest(messages)
        const [part] = messages.at(-1)?.parts ?? []
        const text = part?.type === 'text' ? part.text : 'a photo'
        return {
          parts: [{ type: 'text', text: `I understood this: ${text}` }],
          usage: { inputTokens: 1, outputTokens: 1 },
        }
      },
    }),
  }
}

class Listen extends Step {
  static override readonly id: string = 'Listen'
}

/** One memory, which grows. */
export class Talk extends Flow {
  static override readonly id: string = 'Talk'
  override model(): ModelSelection {
    return model
  }
  override steps(): readonly StepConstructor[] {
    return [Listen]
  }
}

/** How many memories {@link Rooms} has. */
export const rooms = 16

/** One step for each memory, chosen by the number at the beginning of a message. */
const roomSteps: readonly StepConstructor[] = Array.from({ length: rooms }, (_, index) => {
  return class extends Step {
    static override readonly id: string = `Room${index}`
    override onReply(): Transition {
      return go(Door).withReply('Noted.')
    }
  }
})

class Door extends LogicStep {
  static override readonly id: string = 'Door'
  override run(turn: Turn): Transition {
    return go(roomSteps[Number.parseInt(turn.message, 10) % rooms] as StepConstructor)
  }
}

/** Sixteen memories. */
export class Rooms extends Flow {
  static override readonly id: string = 'Rooms'
  override model(): ModelSelection {
    return model
  }
  override steps(): readonly StepConstructor[] {
    return [Door, ...roomSteps]
  }
}
