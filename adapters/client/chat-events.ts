/** What a page learns while a message is answered, as types. The server's events are described in docs/streaming.md. */
import type { FlowStreamEvent, RunResponseType } from '../../src/index.js'

/** What is stored under the session ID after a turn: docs/http.md, "Whether the session goes on". */
export type ChatSessionState = Extract<FlowStreamEvent, { type: 'result' }>['sessionState']

/** How a turn ended. */
export interface ChatOutcome extends RunResponseType {
  readonly sessionState: ChatSessionState
  /** `base64` if `message` is bytes. */
  readonly encoding?: 'base64'
  /**
   * The code of a failure, such as `MODEL_ERROR`; the status in digits if something in front of the server refused the
   * message, `REQUEST_ERROR` if it could not be sent.
   */
  readonly code?: string
  /** Whether this is the outcome of an earlier request with the same key. */
  readonly replayed?: true
  /** Why a new session answered and not the one that was named. */
  readonly restarted?: string
}

/** The data of each event of a turn, by the event's type. All text is provisional until `result`. */
export interface ChatTurnEvents {
  /** The turn has begun, in this session. */
  session: { readonly session: string; readonly restarted?: string; readonly replayed?: true }
  /** A step was entered. Only with the server's option `streamDetails`, as the next two. */
  step: { readonly step: string }
  'tool-start': { readonly tool: string; readonly toolCallId: string }
  'tool-end': { readonly tool: string; readonly toolCallId: string; readonly success: boolean }
  /** The reply goes on with this text. */
  'text-delta': { readonly text: string }
  /** The text so far does not count. */
  reset: { readonly reason: string }
  /** No outcome came. The message is sent again, after so many milliseconds. */
  retry: { readonly attempt: number; readonly afterMs: number }
  /** The turn is stored. The last event of a turn that succeeded. */
  result: ChatOutcome
  /** The last event of a turn that failed. */
  error: ChatOutcome
}

/** One event of a turn. */
export type ChatTurnEvent = {
  [Type in keyof ChatTurnEvents]: { readonly type: Type; readonly data: ChatTurnEvents[Type] }
}[keyof ChatTurnEvents]

/** The outcome that an event brings, if it is the last one of its turn. */
export function outcomeOf(event: ChatTurnEvent): ChatOutcome | undefined {
  return event.type === 'result' || event.type === 'error' ? event.data : undefined
}
