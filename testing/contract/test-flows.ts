// Flows for tests that need any flow: made from a list of steps, over a scripted model. Messages in short, for
// comparing, and a script that need not be used up. To test a whole conversation, use `Conversation`
// of `turnkeeper/testing`.
import {
  Flow,
  LogicStep,
  type ModelSelection,
  reply,
  type StepConstructor,
  type StoredMessage,
} from '../../src/index.js'
import type { ModelScript, ScriptedReply } from '../index.js'

/** A flow named `Test` with the scripted model. */
export class TestFlow extends Flow {
  static override readonly id: string = 'Test'
  override model(): ModelSelection | undefined {
    return { provider: 'scripted', name: 'scripted' }
  }
  override steps(): readonly StepConstructor[] {
    return []
  }
}

/** A {@link TestFlow} of these steps. */
export function flowOf(...steps: readonly StepConstructor[]): typeof TestFlow {
  return class extends TestFlow {
    override steps(): readonly StepConstructor[] {
      return steps
    }
  }
}

/** A logic step that answers `At <id>.`: somewhere to go. */
export function place(id: string): StepConstructor {
  return class extends LogicStep {
    static override readonly id: string = id
    override run(): ReturnType<LogicStep['run']> {
      return reply(`At ${id}.`)
    }
  }
}

/** Messages in short: `user: Hello`, `assistant: note({"text":"a"})`, `tool: note = "Done."`. */
export function lines(messages: readonly StoredMessage[] | undefined): string[] {
  return (messages ?? []).map(({ role, parts }) => `${role}: ${parts.map(inShort).join(' + ')}`)
}

function inShort(part: StoredMessage['parts'][number]): string {
  if (part.type === 'text') return part.text
  if (part.type === 'reasoning') return `(${part.text})`
  if (part.type === 'tool-call') return `${part.toolName}(${JSON.stringify(part.input)})`
  if (part.type !== 'tool-result') return part.mediaType
  return `${part.toolName} ${part.isError === true ? 'failed' : '='} ${JSON.stringify(part.output)}`
}

/** A script for a turn that may end before it is used up. A request beyond its end is a failure nevertheless. */
export function upTo(...replies: readonly ScriptedReply[]): ModelScript {
  return ({ origin }) => replies[origin.callNumber - 1] ?? new Error('The model was asked once too often.')
}
