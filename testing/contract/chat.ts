// What the tests of the authoring API share: a conversation with one flow over a scripted model and a store that keeps
// a journal, and flows made of a list of steps. Not published; what a flow author uses is in `turnkeeper/testing`.
import {
  type ExecuteResult,
  Flow,
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  LogicStep,
  type Message,
  type MessagePart,
  type ModelSelection,
  reply,
  type SessionDocument,
  type StepConstructor,
} from '../../src/index.js'
import { FakeSessionStore, type ModelScript, type ScriptedProvider, scriptedProvider } from '../index.js'

/** A conversation: each turn goes on in the session of the one before it. */
export interface Chat {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  readonly provider: ScriptedProvider
  /** The session of the last turn. Set it to go on in another one. */
  sessionId: string
  /** Says something; the text of the answer. A turn that fails rejects with its error. */
  say(userMessage: string, input?: Partial<FlowRunInput>): Promise<string>
  /** Says something; all that the engine answers. */
  execute(userMessage: string, input?: Partial<FlowRunInput>): Promise<ExecuteResult>
  /** The session as it is stored now. */
  document(): Promise<SessionDocument>
}

export interface ChatOptions extends FlowEngineOptions {
  /** What the model answers. Default: nothing, so that a call fails. */
  readonly script?: ModelScript
  readonly sessionStore?: FakeSessionStore
}

/** Starts a conversation with a flow. */
export function chatWith(flow: FlowConstructor, options: ChatOptions = {}): Chat {
  const { script = [], providers = [], sessionStore = new FakeSessionStore(), ...rest } = options
  const provider = scriptedProvider(script)
  const engine = new FlowEngine({ ...rest, flows: [flow], providers: [provider, ...providers], sessionStore })
  const execute = async (userMessage: string, input: Partial<FlowRunInput> = {}): Promise<ExecuteResult> => {
    const result = await engine.execute({ flowName: flow.id, userMessage, sessionId: chat.sessionId, ...input })
    chat.sessionId = result.response.session
    return result
  }
  const chat: Chat = {
    engine,
    store: sessionStore,
    provider,
    sessionId: '',
    execute,
    async say(userMessage, input) {
      const { response, error } = await execute(userMessage, input)
      if (error !== undefined) throw error
      return response.message
    },
    async document() {
      const document = await engine.getSession(chat.sessionId)
      if (document === undefined) throw new Error(`There is no session '${chat.sessionId}'.`)
      return document
    },
  }
  return chat
}

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
export function lines(messages: readonly Message[] | undefined): string[] {
  return (messages ?? []).map(({ role, parts }) => `${role}: ${parts.map(inShort).join(' + ')}`)
}

function inShort(part: MessagePart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'tool-call') return `${part.toolName}(${JSON.stringify(part.input)})`
  return `${part.toolName} ${part.isError === true ? 'failed' : '='} ${JSON.stringify(part.output)}`
}
