/**
 * What a session must look like, in as few fields as distinguish one session from another, and what a turn of each flow
 * does to it. Written from the contract and the design, as plainly as possible: it stores nothing and knows no engine.
 */
import type { SessionDocument, StoredMessage } from '../../../src/index.js'
import { answerTo } from './flows.js'
import { bytesOfLists, defaultRules, isSummaryDue, windowed, withinLimits } from './model-lists.js'
import type { FlowName, ModelPhoto, ModelSession, ModelTurn, Rules, Usage, Verb } from './model-types.js'

/** The result of a turn: the session after it and the reply, or the text of the failure. Usage is spent either way. */
export type Taken =
  | {
      readonly failed: string
      /** Whether the session goes on: what the turn would have added was too much, and nothing else is wrong. */
      readonly goesOn: boolean
      readonly usage: Usage
    }
  | {
      readonly failed?: never
      readonly after: ModelSession
      readonly usage: Usage
      /** Whether a summary should be written after it. */
      readonly isSummaryDue: boolean
    }

/** What a turn gets. */
export interface TakenTurn {
  readonly message: string
  /** The ID that the engine gave to the turn. */
  readonly id: string
  /** The bytes of a photo that came with the message, in base64. */
  readonly photo?: string | undefined
}

/** The request of the session's last turn, without its photo. */
export function lastTurnOf({ turns }: ModelSession): TakenTurn {
  const { message = '', id = '' } = turns.at(-1) ?? {}
  return { message, id }
}

/** A session that has not been stored yet. */
export function newSession(
  flow: FlowName,
  owner: string | undefined,
  config: ModelSession['context'] | undefined,
): ModelSession {
  return {
    flow,
    owner,
    status: 'running',
    step: null,
    contentType: undefined,
    context: config === undefined ? {} : { config },
    steps: {},
    memory: [],
    attachments: undefined,
    count: 0,
    turns: [],
    bytes: 0,
    errors: [],
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
    saves: 0,
  }
}

/** One turn, in which nothing fails but what the flow itself makes fail, and what is too large. */
export function take(session: ModelSession, turn: TakenTurn, { limits, compaction }: Rules = defaultRules): Taken {
  const taken = session.flow === 'Talk' ? talk(session, turn) : note(session, turn)
  const { usage } = taken
  if (taken.failed !== undefined) return { ...taken, goesOn: false }
  let { after } = taken
  const policy = after.status === 'running' && after.flow === 'Talk' ? compaction : undefined
  if (policy?.kind === 'window') after = { ...after, memory: windowed(after.memory, policy) }
  const isDue = policy?.kind === 'summary' && isSummaryDue(after.memory, session.memory.length, policy)
  const fitting = withinLimits(after, limits)
  if (fitting === undefined) return { failed: tooLarge(limits), goesOn: true, usage }
  return { after: { ...fitting, bytes: bytesOfLists(fitting) }, usage, isSummaryDue: isDue }
}

function tooLarge({ maxSessionBytes }: Rules['limits']): string {
  return `The session exceeds the limit maxSessionBytes (${maxSessionBytes}).`
}

/** What the flow does, before anything is too long. */
type Played =
  | { readonly failed: string; readonly usage: Usage }
  | { readonly failed?: never; readonly after: ModelSession; readonly usage: Usage }

function note(session: ModelSession, turn: TakenTurn): Played {
  const [verb, token = ''] = turn.message.split(' ') as [Verb, string]
  const { usage } = session
  if (verb === 'boom') return { failed: `boom ${token}`, usage }
  const said = [...saidIn(session, 'Collect'), token]
  const step = session.step ?? 'Collect'
  const other = step === 'Collect' ? 'Review' : 'Collect'
  const next = verb === 'end' ? 'Done' : verb === 'move' || verb === 'sheet' ? other : step
  const text = `${said.join(',')} ${JSON.stringify(session.context)}`
  const entered = next === 'Done' ? { Done: { state: {} } } : { [next]: session.steps[next] ?? { state: { said: [] } } }
  const steps = { ...session.steps, ...entered, Collect: { state: { said } } }
  return { after: answered({ ...session, steps }, turn, text, next), usage }
}

function talk(session: ModelSession, turn: TakenTurn): Played {
  const { message, photo } = turn
  const [verb, token = ''] = message.split(' ') as [Verb, string]
  const number = session.count + 1
  const said = [...saidIn(session, 'Chat')]
  const attachments = bytesWith(session, photo)
  const picture = photo === undefined ? [] : [photoAt(number)]
  const memory: StoredMessage[] = [
    ...session.memory,
    { role: 'user', parts: [{ type: 'text', text: message }, ...picture], turn: number },
  ]
  let { inputTokens, outputTokens, modelCalls } = session.usage
  const ask = (): string => {
    inputTokens += memory.length
    outputTokens++
    modelCalls++
    const wanted = memory.flatMap(({ parts }) => parts.flatMap((part) => ('attachment' in part ? part.attachment : [])))
    const found = wanted.filter((id) => attachments?.some((one) => one.id === id))
    return answerTo(memory.length, found.length, wanted.length - found.length)
  }
  if (verb === 'move') {
    ask()
    said.push('noted')
    const call = { toolCallId: `call-${number}`, toolName: 'note' }
    memory.push({ role: 'assistant', parts: [{ type: 'tool-call', ...call, input: {} }], turn: number })
    memory.push({ role: 'tool', parts: [{ type: 'tool-result', ...call, output: 'Done.' }], turn: number })
  }
  const text = ask()
  memory.push({ role: 'assistant', parts: [{ type: 'text', text }], turn: number })
  said.push(token)
  const usage = { inputTokens, outputTokens, modelCalls }
  if (verb === 'boom') return { failed: message, usage }
  // If code answered in place of the model, the model receives that answer.
  const reply = verb === 'end' ? 'bye' : text
  if (verb === 'end') memory.push({ role: 'assistant', parts: [{ type: 'text', text: reply }], turn: number })
  const chat = { state: { said }, model: { provider: 'counting', name: 'counting' } }
  const steps = { ...session.steps, Chat: chat, ...(verb === 'end' ? { Done: { state: {} } } : {}) }
  const changed = { ...session, steps, memory, usage }
  return { after: answered(changed, turn, reply, verb === 'end' ? 'Done' : 'Chat'), usage }
}

/** The bytes that are kept if a turn brings a photo, before the oldest are removed. */
function bytesWith({ attachments, count }: ModelSession, photo: string | undefined): ModelSession['attachments'] {
  const turn = count + 1
  if (photo === undefined) return attachments
  return [...(attachments ?? []), { id: photoAt(turn).attachment, turn, data: photo }]
}

function photoAt(turn: number): ModelPhoto {
  return { type: 'image', mediaType: 'image/png', attachment: `${turn}-0` }
}

function saidIn({ steps }: ModelSession, step: string): readonly string[] {
  return (steps[step]?.state.said as string[] | undefined) ?? []
}

/**
 * The session with one more turn. A content type that a move sets stays until the next move; any other is of one reply.
 * The history shows the photo of the message, whether or not a model received it.
 */
function answered(session: ModelSession, { message, id, photo }: TakenTurn, reply: string, step: string): ModelSession {
  const [verb] = message.split(' ')
  const isMove = step !== (session.step ?? (session.flow === 'Talk' ? 'Chat' : 'Collect'))
  const moved = verb === 'sheet' ? 'text/csv' : undefined
  const ofStep = isMove ? moved : session.contentType
  const contentType = verb === 'csv' ? 'text/csv' : (ofStep ?? 'text/plain')
  const turn = session.count + 1
  const sent = photo === undefined ? {} : { attachments: [{ ...photoAt(turn), size: atob(photo).length }] }
  return {
    ...session,
    status: step === 'Done' ? 'completed' : 'running',
    step,
    contentType: ofStep,
    count: turn,
    attachments: bytesWith(session, photo),
    turns: [...session.turns, { turn, id, message, reply, contentType, step, ...sent }],
    saves: session.saves + 1,
  }
}

/** A stored document as the model sees it. */
export function viewOf(document: SessionDocument): ModelSession {
  const { flow } = document
  return {
    flow: flow.name as FlowName,
    owner: document.owner,
    status: document.runStatus,
    step: flow.currentStep,
    contentType: flow.contentType,
    context: flow.context,
    steps: flow.steps,
    memory: flow.memory.Chat?.messages ?? [],
    attachments: document.attachments,
    count: document.turns,
    turns: document.history.map(({ at: _, ...entry }) => entry as ModelTurn),
    bytes: document.bytes,
    errors: document.error,
    usage: document.usage,
    saves: Number.parseInt(document.revision, 10),
  }
}
