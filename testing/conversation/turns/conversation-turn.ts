/** The record of a turn: types, and functions that read them. */
import { TurnAbortedError } from '../../../src/errors/engine-errors.js'
import type {
  AnyFlowError,
  FlowRunInput,
  JsonValue,
  ModelResponse,
  ReplyPart,
  RunResponseType,
  SessionDocument,
  ToolCallPart,
  ToolResultPart,
} from '../../../src/index.js'
import { show } from '../../expectations/expectation-error.js'
import type { RecordedRequest } from '../../scripted-model/scripted-model.js'

/** What `say` resolves to: the engine's envelope, and the error if the turn failed. */
export interface ConversationReply extends RunResponseType {
  /** As in the result of `execute`. */
  readonly sessionState: 'running' | 'completed' | 'aborted' | 'none' | 'unknown'
  /** The failure; absent on success. */
  readonly error?: AnyFlowError
  /** Set if `message` is bytes in base64. */
  readonly encoding?: 'base64'
  /** What the reply carries beside its text: buttons, cards, forms, files. Absent if there is nothing. */
  readonly parts?: readonly ReplyPart[]
  /** The number of the turn. Present with `parts`. */
  readonly turn?: number
  /** Set if the message was a repeat by its key and got the reply of an earlier turn; no turn ran. */
  readonly replayed?: true
}

/** A tool call that a model made. @inline */
export interface ConversationToolCall {
  readonly name: string
  readonly input: JsonValue
  /** The result that the model received; absent if the turn failed before. */
  readonly output?: JsonValue
  /** Set if the call was refused or failed. */
  readonly isError?: true
}

/** One call of a model. */
export interface LoggedCall {
  readonly request: RecordedRequest
  /** Absent if the call failed. */
  response?: ModelResponse
  /** The exceeded time limit, in words; absent if the engine did not abort the call for one. */
  exceeded?: string
}

/** The events of a turn, in order. */
export type TurnEvent = { readonly sessionId: string; readonly turnId: string } & (
  | { readonly kind: 'enter' | 'return'; readonly step: string }
  | { readonly kind: 'asked'; readonly call: LoggedCall }
  | { readonly kind: 'tool-call'; readonly part: ToolCallPart }
  | { readonly kind: 'end'; readonly success: boolean }
)

/** An event of a server, of the user or of the clock. */
export interface SentEvent {
  readonly name: string
  readonly payload?: JsonValue | undefined
  readonly by?: string | undefined
}

/** One turn. */
export interface ConversationTurn {
  /** The message; empty if there is an `event`. */
  readonly said: string
  /** The event that was sent in place of a message; absent if there was none. */
  readonly event?: SentEvent
  /** The button that was pressed; absent if the message was written. */
  readonly choice?: FlowRunInput['choice']
  readonly reply: ConversationReply
  readonly events: readonly TurnEvent[]
  /** The stored session after the turn; absent if nothing was stored, or it could not be read. */
  readonly document: SessionDocument | undefined
  /** Why the session could not be read after the turn; absent if it could. */
  readonly unread?: { readonly error: unknown }
  readonly results: readonly ToolResultPart[]
  /** Whether the conversation was restarted before this turn. */
  readonly afterRestart: boolean
  /** The text that was streamed before the turn was stopped; absent if it was not stopped. */
  readonly stoppedAfter?: string
  /** The effect after which the process died; absent if it did not. */
  readonly diedAfter?: string
  /** The idempotency key of the message; absent if it had none. */
  readonly key?: string
  /** The network fault of the message, or the reason for sending it again. */
  readonly note?: string
  /** The number that the session gave to the turn; absent if the message became no turn, or nothing was stored. */
  readonly number?: number
  /** Set if the message did not become a turn of the session. */
  readonly isNoTurn?: true
}

/** How a turn ended. */
export type TurnEnd =
  | { readonly reply: ConversationReply }
  /** The session of the turn, if the stream named it, and the text so far. */
  | { readonly reply?: never; readonly session: string; readonly stoppedAfter: string; readonly diedAfter?: string }

/** The running turn, as far as it is known. */
export interface RunningTurn extends Pick<ConversationTurn, 'said' | 'event' | 'choice' | 'events' | 'afterRestart'> {
  /** The session that the message was sent to; empty if it begins one. */
  readonly session: string
  /** The streamed text so far; absent if the turn is not read event by event. */
  readonly text?: string
}

/** An event in one line: its name, its payload as JSON, and its sender. */
export function eventText({ name, payload, by }: SentEvent): string {
  const json = payload === undefined ? [] : [JSON.stringify(payload)]
  return [name, ...json, ...(by === undefined ? [] : ['by', by])].join(' ')
}

/** What a turn was sent, for a failure. */
export function shownSaid({ said, event }: Pick<ConversationTurn, 'said' | 'event'>): string {
  return event === undefined ? show(said, 60) : `of event '${event.name}'`
}

/** The tool calls of a turn, in order. */
export function toolCallsOf({ events, results }: Pick<ConversationTurn, 'events' | 'results'>): ConversationToolCall[] {
  const calls = events.flatMap((event) => (event.kind === 'tool-call' ? [event.part] : []))
  const left = [...results]
  const take = (isOurs: (result: ToolResultPart) => boolean): ToolResultPart | undefined => {
    const index = left.findIndex(isOurs)
    return index < 0 ? undefined : left.splice(index, 1)[0]
  }
  const byId = calls.map((call) => take(({ toolCallId }) => toolCallId === call.toolCallId))
  return calls.map(({ toolName: name, input }, index) => {
    // The engine renames a call whose ID is missing or already used.
    const result = byId[index] ?? take(({ toolName }) => toolName === name)
    if (result === undefined) return { name, input }
    const { output, isError } = result
    return { name, input, output, ...(isError === undefined ? {} : { isError }) }
  })
}

/** The reply of a turn of a document. Default: the last one. */
function replyIn({ id, history, runStatus }: SessionDocument, turnId?: string): ConversationReply {
  const entry = history.find((one) => one.id === turnId) ?? history.at(-1)
  const { reply: message = '', contentType = 'text/plain', encoding, parts, turn } = entry ?? {}
  const completed = runStatus === 'completed'
  const reply = { success: true, completed, message, session: id, contentType, sessionState: runStatus }
  return { ...reply, ...(encoding && { encoding }), ...(parts && { parts, turn: turn as number }) }
}

/** The result of a stopped turn: the failure envelope of the engine, which no client receives. */
function stoppedReply(session: string): ConversationReply {
  const error = new TurnAbortedError()
  const sessionState = session === '' ? 'none' : 'unknown'
  return {
    success: false,
    completed: true,
    message: error.message,
    session,
    contentType: 'text/plain',
    sessionState,
    error,
  }
}

/** The results of a turn of a document, in the order of each memory. Default: the last turn. */
function resultsIn(document: SessionDocument, turnId?: string): ConversationTurn['results'] {
  const turn = numberIn(document, turnId) ?? document.turns
  return Object.values(document.flow.memory).flatMap(({ messages }) => {
    const parts = messages.filter((message) => message.turn === turn).flatMap((message) => message.parts)
    return parts.filter((part) => part.type === 'tool-result')
  })
}

/** The record of an ended turn, without the fields that the conversation adds. */
export type EndedTurn = Omit<ConversationTurn, 'afterRestart'>

/**
 * The record of an ended turn.
 *
 * @param turn.events - The events of the turn.
 * @param turn.document - The currently stored session; `undefined` if there is none.
 * @param turnId - The ID of the turn, if others ran at the same time. Default: the last turn of the document.
 */
export function endedTurn(
  turn: Pick<ConversationTurn, 'said' | 'events' | 'document' | 'unread'>,
  end: TurnEnd,
  turnId?: string,
): EndedTurn {
  const { document, events } = turn
  if (end.reply !== undefined) {
    const { reply } = end
    const hasResults = reply.success && reply.replayed !== true && document !== undefined
    if (hasResults) return { ...turn, reply, results: resultsIn(document, turnId), ...numberOf(document, turnId) }
    return { ...turn, reply, results: [] }
  }
  const isCommitted = events.some((event) => event.kind === 'end' && event.success)
  if (isCommitted && document !== undefined) {
    const results = resultsIn(document, turnId)
    return { ...turn, reply: replyIn(document, turnId), results, ...numberOf(document, turnId) }
  }
  const { stoppedAfter, diedAfter } = end
  const stopped = { ...turn, reply: stoppedReply(document?.id ?? ''), stoppedAfter, results: [] }
  return diedAfter === undefined ? stopped : { ...stopped, diedAfter, isNoTurn: true }
}

function numberOf(document: SessionDocument, turnId: string | undefined): { readonly number?: number } {
  const number = turnId === undefined ? document.turns : numberIn(document, turnId)
  return number === undefined ? {} : { number }
}

/** The number that a session gave to a turn; `undefined` if the session no longer has the turn. */
export function numberIn(document: SessionDocument, turnId: string | undefined): number | undefined {
  return turnId === undefined ? undefined : document.history.find((one) => one.id === turnId)?.turn
}
