/**
 * The flows of the simulation, with every hook that can wait: the same turns, with more moments in them. The reference
 * model knows their answers.
 */
import type {
  FlowConstructor,
  FlowServices,
  ModelProviderAdapter,
  Step,
  StepConstructor,
  Tool,
  Turn,
} from '../../../src/index.js'
import { countingProvider, Ledger, Notes, type Probe, Talk } from '../simulation/flows.js'

/** What the flows need from a run: a moment in which they can be held up. */
export interface Pauses extends Probe {
  pause(label: string): Promise<void>
}

function pause({ services }: { readonly services: FlowServices }, label: string): Promise<void> {
  return (services as unknown as Pauses).pause(label)
}

class PausingNotes extends Notes {
  static override readonly id = 'Notes'
  override init(): Promise<void> {
    return pause(this, 'init')
  }
  override onRestore(): Promise<void> {
    return pause(this, 'onRestore')
  }
}

const [Chat, Done] = new Talk().steps() as readonly [typeof Step<{ said: string[] }>, StepConstructor]

class PausingChat extends Chat {
  static override readonly id = 'Chat'
  override onRestore(turn: Turn): Promise<void> {
    return pause(turn, 'the step’s onRestore')
  }
  override async tools(turn: Turn): Promise<readonly Tool[]> {
    return (await super.tools(turn)).map((tool) => ({
      ...tool,
      execute: async (args, toolTurn, call) => {
        await pause(turn, 'tool')
        return tool.execute(args, toolTurn, call)
      },
    }))
  }
}

class PausingTalk extends Talk {
  static override readonly id = 'Talk'
  override steps(): readonly StepConstructor[] {
    return [PausingChat, Done]
  }
}

/** Flows by the names that the reference model knows. */
export const pausingFlows: readonly FlowConstructor[] = [PausingNotes, Ledger, PausingTalk]

/** The model of the simulation, slow. */
export function pausingProvider(pauses: Pauses): ModelProviderAdapter {
  return {
    provider: countingProvider.provider,
    resolve(selection) {
      const model = countingProvider.resolve(selection)
      return {
        ...model,
        generate: async (request) => {
          await pauses.pause('model')
          return model.generate(request)
        },
      }
    },
  }
}
