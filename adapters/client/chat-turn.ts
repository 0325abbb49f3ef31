/** One message and its reply, as a page shows them. */
import type { ChatOutcome, ChatTurnEvent } from './chat-events.js'
import type { ChatAttachment, ChatMessage } from './chat-message.js'

/**
 * - `waiting`: the turn has not begun.
 * - `running`: the reply comes. What came so far is provisional.
 * - `answered`: the reply is there.
 * - `failed`: the turn failed. `failure` says why.
 * - `stopped`: the user stopped it. It left nothing behind.
 * - `superseded`: a newer message took its place. This one was not taken; `retry` sends it again.
 * - `unanswered`: no outcome came. Whether the turn ran is unknown; `retry` finds out. `failure` says why, if the
 *   message could not be sent again.
 */
export type ChatTurnStatus = 'waiting' | 'running' | 'answered' | 'failed' | 'stopped' | 'superseded' | 'unanswered'

/** One message and its reply. It does not change: each change makes a new one with the same `id`. */
export interface ChatTurn {
  readonly id: string
  readonly message: string
  readonly attachments: readonly ChatAttachment[]
  readonly status: ChatTurnStatus
  /** The reply, as far as it has come; empty if it is a `file`, and if the turn failed. */
  readonly text: string
  /** The reply if its content type is not `text/plain`: `file.type` says which it is. */
  readonly file?: Blob
  readonly failure?: {
    /** Such as `MODEL_ERROR`. */
    readonly code: string
    readonly message: string
  }
}

/** A turn that waits for its message to be sent. */
export function turnOf({ text, attachments = [] }: ChatMessage, status: ChatTurnStatus, id: string): ChatTurn {
  return { id, message: text, attachments, status, text: '' }
}

/**
 * The turn after one of its events.
 *
 * @param mayBeStored - Whether it may be, although the event is that of a failure.
 */
export function afterEvent(turn: ChatTurn, event: ChatTurnEvent, mayBeStored: boolean): ChatTurn {
  const { failure: _failure, file: _file, ...rest } = turn
  switch (event.type) {
    case 'session':
      return { ...rest, status: 'running' }
    case 'text-delta':
      return { ...rest, status: 'running', text: rest.text + event.data.text }
    case 'reset':
      return { ...rest, text: '' }
    case 'result':
      return { ...rest, status: 'answered', ...contentOf(event.data) }
    case 'error':
      return { ...rest, ...failureOf(rest, event.data, mayBeStored) }
    default:
      return turn
  }
}

/** The reply of an outcome, as text or as a file. */
export function contentOf({
  message,
  contentType,
  encoding,
}: Pick<ChatOutcome, 'message' | 'contentType' | 'encoding'>): Pick<ChatTurn, 'text' | 'file'> {
  if (encoding === undefined && contentType === 'text/plain') return { text: message }
  const content = encoding === 'base64' ? Uint8Array.from(atob(message), (byte) => byte.charCodeAt(0)) : message
  return { text: '', file: new Blob([content], { type: contentType }) }
}

/** What a turn is that did not fail, but did not go on. */
const withdrawn: Readonly<Record<string, ChatTurnStatus>> = { TURN_ABORTED: 'stopped', TURN_SUPERSEDED: 'superseded' }

/** What came of a reply that was stopped stays: the user has seen it. */
function failureOf(
  { text }: { readonly text: string },
  { code = '', message }: ChatOutcome,
  mayBeStored: boolean,
): Pick<ChatTurn, 'status' | 'text' | 'failure'> {
  const status = withdrawn[code]
  return {
    status: mayBeStored ? 'unanswered' : (status ?? 'failed'),
    text: status ? text : '',
    failure: { code, message },
  }
}
