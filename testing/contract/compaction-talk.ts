// Conversations with a flow that shortens its memory: one model step with a tool, a model that repeats what
// it receives, and another one that writes summaries as the test wants them.
import {
  Flow,
  type FlowCompaction,
  type FlowConstructor,
  type FlowEngineOptions,
  type Message,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Tool,
  tool,
} from '../../src/index.js'
import { type Harness, harness } from './engine-harness.js'
import { type RecordedEvent, recordEvents } from './event-recorder.js'
import { lines } from './test-flows.js'

/** The answer to a request for a summary. */
export type SummaryAnswer = (request: ModelRequest) => ModelResponse | Promise<ModelResponse>

/** A text as an answer. */
export function answerOf(text: string, finishReason?: NonNullable<ModelResponse['finishReason']>): ModelResponse {
  const usage = { inputTokens: 100, outputTokens: 10 }
  return { parts: [{ type: 'text', text }], usage, ...(finishReason === undefined ? {} : { finishReason }) }
}

/** The model that writes summaries. */
export const summaryModel = { provider: 'talk', name: 'summarist' } as const

class Chat extends Step {
  static override readonly id = 'Chat'
  override tools(): readonly Tool[] {
    return [tool({ name: 'note', description: 'Notes it.', execute: () => 'Noted.' })]
  }
}

/** A flow of one model step, `Chat`, with this compaction. */
function chatFlow(compaction: FlowCompaction, steps: readonly StepConstructor[] = [Chat]): FlowConstructor {
  return class extends Flow {
    static override readonly id = 'Talk'
    static override readonly compaction = compaction
    override model(): { provider: string; name: string } {
      return { provider: 'talk', name: 'talker' }
    }
    override steps(): readonly StepConstructor[] {
      return steps
    }
  }
}

/** A conversation under way. */
export interface Talk extends Harness {
  readonly events: RecordedEvent[]
  /** What the step's model received in each call, in short. */
  readonly received: string[][]
  /** The requests for summaries. */
  readonly asked: ModelRequest[]
  /** The next summaries. Default: `sum 1`, `sum 2` and so on. */
  answer: SummaryAnswer
  /** The session, once a turn has answered. */
  sessionId: string
  /** One turn; fails if it does. Resolves when it is answered, before its after-turn tasks. */
  say(text: string): Promise<void>
  /**
   * The turns `1` to `count`, or from another one on, each after the one before and its after-turn tasks have ended.
   */
  sayTurns(count: number, from?: number): Promise<void>
  /** The messages of `Chat`, in short. */
  memory(): Promise<string[]>
  /** The events about memories, oldest first, without the fields that every event has. */
  told(): readonly (readonly [string, object])[]
}

/** Answers `Re: <message>`, after a call of the tool if the message begins with `note`. */
function talk({ messages }: ModelRequest): ModelResponse {
  const last = messages.at(-1) as Message
  const usage = { inputTokens: 2, outputTokens: 1 }
  const [part] = last.parts
  if (part?.type === 'tool-result') return { parts: [{ type: 'text', text: 'It is noted.' }], usage }
  const text = part?.type === 'text' ? part.text : ''
  if (!text.startsWith('note')) return { parts: [{ type: 'text', text: `Re: ${text}` }], usage }
  const toolCallId = `call-${messages.length}-${last.turn}`
  return { parts: [{ type: 'tool-call', toolCallId, toolName: 'note', input: { text } }], usage }
}

/** A conversation with a flow of {@link chatFlow}. */
export function startTalk(
  compaction: FlowCompaction,
  options: FlowEngineOptions & {
    readonly backing?: Map<string, SessionDocument>
    readonly steps?: readonly StepConstructor[]
  } = {},
): Talk {
  const { steps, ...more } = options
  const asked: ModelRequest[] = []
  const received: string[][] = []
  const provider: ModelProviderAdapter = {
    provider: 'talk',
    resolve: ({ provider: ofProvider, name }) => ({
      provider: ofProvider,
      name,
      async generate(request) {
        if (!name.startsWith('summarist')) {
          received.push(lines(request.messages))
          return talk(request)
        }
        asked.push(request)
        return made.answer(request)
      },
    }),
  }
  const underneath = harness({ flows: [chatFlow(compaction, steps)], providers: [provider], ...more })
  const { engine, clock, document } = underneath
  const events = recordEvents(engine)
  const made: Talk = {
    ...underneath,
    events,
    asked,
    received,
    sessionId: '',
    answer: () => answerOf(`sum ${asked.length}`),
    async say(userMessage) {
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage, sessionId: made.sessionId })
      if (error !== undefined) throw error
      made.sessionId = response.session
    },
    async sayTurns(count, from = 1) {
      for (let turn = from; turn < from + count; turn++) {
        await made.say(String(turn))
        await clock.settle()
      }
    },
    memory: async () => lines((await document(made.sessionId)).flow.memory.Chat?.messages),
    told: () =>
      events
        .filter(([name]) => name.startsWith('memory:'))
        .map(([name, { sessionId: _, flowName: _f, turnId: _t, at: _a, ...rest }]) => [name, rest] as const),
  }
  return made
}

/** Whether every tool call of a document has its result after it, and every result its call before it. */
export function hasWholePairs({ flow }: SessionDocument): boolean {
  return Object.values(flow.memory).every(({ messages }) => {
    const open = new Set<string>()
    for (const part of messages.flatMap(({ parts }) => parts)) {
      if (part.type === 'tool-call') open.add(part.toolCallId)
      if (part.type === 'tool-result' && !open.delete(part.toolCallId)) return false
    }
    return open.size === 0
  })
}
