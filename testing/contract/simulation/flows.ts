/**
 * The flows that the simulation runs, and the model they talk to. What a message does is its first word; its second is
 * a token that identifies the turn. Each turn changes state before it can fail, so that half a turn would show.
 */

import { rollingSummary, slidingWindow } from '../../../src/compaction/index.js'
import {
  EndStep,
  Flow,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  reply,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../../src/index.js'
import type { ModelCompaction } from './model-types.js'

/** What the flows need from the simulation: to be held up, or disturbed, in the middle of a turn. */
export interface Probe {
  during(token: string, sessionId: string): Promise<void>
}

interface Said {
  said: string[]
}

/** Everything but `move` works alike in both note-taking steps. They share one list, which is in `Collect`. */
abstract class NoteStep extends LogicStep<Said> {
  abstract next(): StepConstructor<Said>

  override async run(turn: Turn): Promise<Transition> {
    const [verb, token = ''] = turn.message.split(' ')
    const state = turn.stateOf(Collect)
    state.said.push(token)
    await (turn.services as Probe).during(token, turn.session.id)
    if (verb === 'boom') throw new Error(`boom ${token}`)
    const text = `${state.said.join(',')} ${JSON.stringify(turn.context)}`
    if (verb === 'csv') return reply(text).withContentType('text/csv')
    if (verb === 'move') return go(this.next()).withReply(text)
    if (verb === 'sheet') return go(this.next()).withReply(text).withContentType('text/csv')
    return verb === 'end' ? finish(text) : reply(text)
  }
}

class Collect extends NoteStep {
  static override readonly id = 'Collect'
  override initialState(): Said {
    return { said: [] }
  }
  override next(): StepConstructor<Said> {
    return Review
  }
}

class Review extends NoteStep {
  static override readonly id = 'Review'
  override initialState(): Said {
    return { said: [] }
  }
  override next(): StepConstructor<Said> {
    return Collect
  }
}

class Chat extends Step<Said> {
  static override readonly id = 'Chat'
  override readonly stream = true

  override initialState(): Said {
    return { said: [] }
  }

  override tools(): readonly Tool[] {
    return [
      tool({
        name: 'note',
        description: 'Notes that it was called.',
        execute: () => {
          this.state.said.push('noted')
        },
      }),
    ]
  }

  override async onReply(text: string, turn: Turn): Promise<string | Transition> {
    const [verb, token = ''] = turn.message.split(' ')
    this.state.said.push(token)
    await (turn.services as Probe).during(token, turn.session.id)
    if (verb === 'boom') throw new Error(`boom ${token}`)
    if (verb === 'csv') return reply(text).withContentType('text/csv')
    return verb === 'end' ? finish('bye') : text
  }
}

class Done extends EndStep {
  static override readonly id = 'Done'
}

/** Logic steps. */
export class Notes extends Flow {
  static override readonly id: string = 'Notes'
  override steps(): readonly StepConstructor[] {
    return [Collect, Review, Done]
  }
}

/** The same, with a checkpoint before each turn. */
export class Ledger extends Notes {
  static override readonly id: string = 'Ledger'
  override isBatch(): boolean {
    return true
  }
}

/** A model step with a tool. */
export class Talk extends Flow {
  static override readonly id = 'Talk'
  override model(): { provider: string; name: string } {
    return { provider: 'counting', name: 'counting' }
  }
  override steps(): readonly StepConstructor[] {
    return [Chat, Done]
  }
}

/** {@link Talk} with a memory that is shortened. */
export function talkWith({ kind, above, keep }: ModelCompaction): FlowConstructor {
  const model = { provider: 'counting', name: 'counting' }
  const policy = kind === 'window' ? slidingWindow({ above, keep }) : rollingSummary({ above, keep, model })
  return class extends Talk {
    static override readonly id = 'Talk'
    static override readonly compaction = { Chat: policy }
  }
}

/** A model that answers with the number of messages it received, and calls the tool once if the user says `move`. */
export const countingProvider: ModelProviderAdapter = {
  provider: 'counting',
  resolve: () => ({ provider: 'counting', name: 'counting', generate: count, stream: countAloud }),
}

/** The same model. Each of its summaries waits first. */
export function providerWhoseSummariesWait(wait: (sessionId: string) => Promise<void>): ModelProviderAdapter {
  const generate = async (request: ModelRequest): Promise<ModelResponse> => {
    const { stepId, sessionId } = request.origin
    if (stepId.startsWith('memory:')) await wait(sessionId)
    return count(request)
  }
  return {
    provider: 'counting',
    resolve: () => ({ provider: 'counting', name: 'counting', generate, stream: countAloud }),
  }
}

async function* countAloud(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
  const response = await count(request)
  const [part] = response.parts
  if (part?.type === 'text') for (const text of part.text.split(/(?<=\w{3})/)) yield { type: 'text-delta', text }
  yield { type: 'finish', response }
}

async function count({ messages, origin }: ModelRequest): Promise<ModelResponse> {
  const usage = { inputTokens: messages.length, outputTokens: 1 }
  const [part] = messages.at(-1)?.parts ?? []
  if (part?.type === 'text' && part.text.startsWith('move ')) {
    const call = { type: 'tool-call', toolCallId: `call-${origin.turnNumber}`, toolName: 'note', input: {} } as const
    return { parts: [call], usage }
  }
  const parts = messages.flatMap((message) => message.parts)
  const photos = parts.filter(({ type }) => type === 'image').length
  const lost = parts.filter((one) => one.type === 'text' && one.text.startsWith('[The user sent a')).length
  return { parts: [{ type: 'text', text: answerTo(messages.length, photos, lost) }], usage }
}

/** The model's answer to this many messages, some of them with a photo, or with a photo whose bytes were removed. */
export function answerTo(messages: number, photos: number, lost: number): string {
  const seen = photos === 0 && lost === 0 ? '' : `, saw ${photos}, missed ${lost}`
  return `heard ${messages}${seen}`
}

/** The bytes of the photo that comes with the message with this token, in base64. */
export function photoOf(token: string): string {
  return btoa(`the photo that came with ${token}`)
}
