// A small flow for the tests of the testing module: a model step with a tool that checks its arguments, and a step of
// plain code that ends the conversation. Not published.
import { z } from 'zod'
import {
  Flow,
  finish,
  go,
  LogicStep,
  type ModelSelection,
  Step,
  type StepConstructor,
  stay,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../src/index.js'

const Name: z.ZodObject<{ name: z.ZodString }> = z.object({ name: z.string().min(1) })

/** Asks for the name until it has two parts. */
export class AskName extends Step<{ name?: string; tries?: number[] }> {
  static override readonly id: string = 'AskName'
  override prompt(): string {
    return 'Ask for the full name, then call capture_name.'
  }
  override tools(): readonly Tool[] {
    return [
      tool({
        name: 'capture_name',
        description: 'Record the full name.',
        input: Name,
        execute: ({ name }) => {
          if (!name.includes(' ')) return stay('First and last name, please.')
          this.state.name = name
          return go(Confirm)
        },
      }),
    ]
  }
}

/** Says thank you. */
export class Confirm extends LogicStep {
  static override readonly id: string = 'Confirm'
  override run(turn: Turn): Transition {
    return finish(`Thank you, ${turn.stateOf(AskName).name}.`)
  }
}

/** The flow. */
export class Onboarding extends Flow {
  static override readonly id: string = 'Onboarding'
  override model(): ModelSelection {
    return { provider: 'openai', name: 'gpt-5-mini', params: { temperature: 0 } }
  }
  override steps(): readonly StepConstructor[] {
    return [AskName, Confirm]
  }
}

/** A reply of the model that calls the tool of {@link AskName}. */
export function capture(name: unknown): { toolCalls: [{ name: string; input: { name: never } }] } {
  return { toolCalls: [{ name: 'capture_name', input: { name: name as never } }] }
}
