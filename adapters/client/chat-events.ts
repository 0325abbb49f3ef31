/** The types of the events that a page receives during a turn. docs/streaming.md describes the server's events. */
import type { FlowStreamEvent, ReplyPart, RunResponseType } from '../../src/index.js'

/** The state of the session after a turn: docs/http.md, "Whether the session goes on". */
export type ChatSessionState = Extract<FlowStreamEvent, { type: 'result' }>['sessionState']

/** What a reply carries beside its text. A `choices` part names its turn, for the choice that is sent back. */
export type ChatPart =
  | Exclude<ReplyPart, { readonly type: 'choices' }>
  | (Extract<ReplyPart, { readonly type: 'choices' }> & { readonly turn: number })

/** How a turn ended. */
export interface ChatOutcome extends RunResponseType {
  readonly sessionState: ChatSessionState
  /** `base64` if `message` is bytes. */
  readonly encoding?: 'base64'
  /** Absent if there are none. */
  readonly parts?: readonly ChatPart[]
  /**
   * The code of a failure, such as `MODEL_ERROR`; the HTTP status in digits if a proxy refused the message;
   * `REQUEST_ERROR` if the message could not be sent.
   */
  readonly code?: string
  /** Whether this outcome was replayed from an earlier request with the same key. */
  readonly replayed?: true
  /** Why a new session was started instead of continuing the requested one. */
  readonly restarted?: string
}

/** The data of each event of a turn, by the event's type. All text is provisional until `result`. */
export interface ChatTurnEvents {
  /** The turn has begun, in this session. */
  session: { readonly session: string; readonly restarted?: string; readonly replayed?: true }
  /** A step was entered. This event and the next two need the server's option `streamDetails`. */
  step: { readonly step: string }
  'tool-start': { readonly tool: string; readonly toolCallId: string }
  'tool-end': { readonly tool: string; readonly toolCallId: string; readonly success: boolean }
  /** The next text of the reply. */
  'text-delta': { readonly text: string }
  /** Discards the text so far. */
  reset: { readonly reason: string }
  /** No outcome arrived. The client sends the message again after this many milliseconds. */
  retry: { readonly attempt: number; readonly afterMs: number }
  /** The turn is stored. The last event of a successful turn. */
  result: ChatOutcome
  /** The last event of a failed turn. */
  error: ChatOutcome
}

/** One event of a turn. */
export type ChatTurnEvent = {
  [Type in keyof ChatTurnEvents]: { readonly type: Type; readonly data: ChatTurnEvents[Type] }
}[keyof ChatTurnEvents]

/** The outcome in an event, if it is the last one of its turn. */
export function outcomeOf(event: ChatTurnEvent): ChatOutcome | undefined {
  return event.type === 'result' || event.type === 'error' ? event.data : undefined
}
