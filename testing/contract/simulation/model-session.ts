/**
 * What a session must look like, in as few fields as distinguish one session from another, and what a turn of each flow
 * does to it. Written from the contract and the design, as plainly as possible: it stores nothing and knows no engine.
 */
import type { SessionDocument, StoredMessage } from '../../../src/index.js'

export type FlowName = 'Notes' | 'Ledger' | 'Talk'

/** What the first word of a message asks for. */
export type Verb = 'say' | 'csv' | 'move' | 'end' | 'boom'

/** A stored session. Values are never changed: an object's identity stands for its revision. */
export interface ModelSession {
  readonly flow: FlowName
  readonly owner: string | undefined
  readonly status: 'running' | 'completed' | 'aborted' | 'lost'
  readonly step: string | null
  readonly context: Readonly<Record<string, unknown>>
  readonly said: readonly string[]
  /** The messages that the model received and answered. */
  readonly memory: readonly string[]
  readonly turns: readonly { message: string; reply: string; contentType: string; step: string }[]
  readonly errors: readonly string[]
  readonly usage: Usage
  /** How often it was saved, which its revision counts. */
  readonly saves: number
}

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly modelCalls: number
}

/** The result of a turn: the session after it and the reply, or the text of the failure. Usage is spent either way. */
export type Taken =
  | { readonly failed: string; readonly usage: Usage }
  | { readonly failed?: never; readonly after: ModelSession; readonly usage: Usage }

/** A session that nobody has stored yet. */
export function newSession(
  flow: FlowName,
  owner: string | undefined,
  config: ModelSession['context'] | undefined,
): ModelSession {
  const context = config === undefined ? {} : { config }
  const usage = { inputTokens: 0, outputTokens: 0, modelCalls: 0 }
  return {
    flow,
    owner,
    status: 'running',
    step: null,
    context,
    said: [],
    memory: [],
    turns: [],
    errors: [],
    usage,
    saves: 0,
  }
}

/** One turn, in which nothing fails but what the flow itself makes fail. */
export function take(session: ModelSession, message: string): Taken {
  const [verb, token = ''] = message.split(' ') as [Verb, string]
  return session.flow === 'Talk' ? talk(session, verb, token) : note(session, verb, token)
}

function note(session: ModelSession, verb: Verb, token: string): Taken {
  const { usage } = session
  if (verb === 'boom') return { failed: `boom ${token}`, usage }
  const said = [...session.said, token]
  const step = session.step ?? 'Collect'
  const next = verb === 'end' ? 'Done' : verb === 'move' ? (step === 'Collect' ? 'Review' : 'Collect') : step
  const text = `${said.join(',')} ${JSON.stringify(session.context)}`
  return { after: answered({ ...session, said }, `${verb} ${token}`, text, next), usage }
}

function talk(session: ModelSession, verb: Verb, token: string): Taken {
  const message = `${verb} ${token}`
  const said = [...session.said]
  const memory = [...session.memory, `user: ${message}`]
  let { inputTokens, outputTokens, modelCalls } = session.usage
  const ask = (): string => {
    inputTokens += memory.length
    outputTokens++
    modelCalls++
    return `heard ${memory.length}` // vocabulary: the reply of simulation/flows.ts
  }
  if (verb === 'move') {
    ask()
    said.push('noted')
    memory.push('assistant: note()', 'tool: "Done."')
  }
  const text = ask()
  memory.push(`assistant: ${text}`)
  said.push(token)
  const usage = { inputTokens, outputTokens, modelCalls }
  if (verb === 'boom') return { failed: message, usage }
  // If code answered in place of the model, the model receives that answer.
  if (verb === 'end') memory.push('assistant: bye')
  const after = answered(
    { ...session, said, memory, usage },
    message,
    verb === 'end' ? 'bye' : text,
    verb === 'end' ? 'Done' : 'Chat',
  )
  return { after, usage }
}

/** The session with one more turn. The content type stays until a move, or until another is set. */
function answered(session: ModelSession, message: string, reply: string, step: string): ModelSession {
  const last = session.turns.at(-1)
  const isMove = step !== (session.step ?? (session.flow === 'Talk' ? 'Chat' : 'Collect'))
  const contentType = message.startsWith('csv ')
    ? 'text/csv'
    : isMove
      ? 'text/plain'
      : (last?.contentType ?? 'text/plain')
  return {
    ...session,
    status: step === 'Done' ? 'completed' : 'running',
    step,
    turns: [...session.turns, { message, reply, contentType, step }],
    saves: session.saves + 1,
  }
}

/** A stored document as the model sees it. */
export function viewOf(document: SessionDocument): ModelSession {
  const { flow, usage } = document
  const { Collect, Chat } = flow.steps
  return {
    flow: flow.name as FlowName,
    owner: document.owner,
    status: document.runStatus,
    step: flow.currentStep,
    context: flow.context,
    said: ((Collect ?? Chat)?.state.said as string[] | undefined) ?? [],
    memory: (flow.memory.Chat?.messages ?? []).map(textOf),
    turns: document.history.map(({ message, reply, contentType, step }) => ({ message, reply, contentType, step })),
    errors: document.error,
    usage,
    saves: Number.parseInt(document.revision, 10),
  }
}

function textOf({ role, parts }: StoredMessage): string {
  const texts = parts.map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return part.text
    if (part.type === 'tool-result') return JSON.stringify(part.output)
    return part.type === 'tool-call' ? `${part.toolName}()` : part.mediaType
  })
  return `${role}: ${texts.join(' ')}`
}
