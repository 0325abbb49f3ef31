/** One message and its reply, as a page shows them. */
import type { ChatOutcome, ChatPart, ChatTurnEvent } from './chat-events.js'
import type { ChatAttachment, ChatMessage } from './chat-message.js'

/**
 * - `waiting`: the turn has not begun.
 * - `running`: the reply is arriving. Its text so far is provisional.
 * - `answered`: the reply is complete.
 * - `failed`: the turn failed. `failure` has the reason.
 * - `stopped`: the user stopped it. Nothing was stored.
 * - `superseded`: a newer message took its place. This one was not taken; `retry` sends it again.
 * - `unanswered`: no outcome arrived. It is unknown whether the turn ran; `retry` finds out. If the message could not
 *   be sent again, `failure` has the reason.
 */
export type ChatTurnStatus = 'waiting' | 'running' | 'answered' | 'failed' | 'stopped' | 'superseded' | 'unanswered'

/** One message and its reply. It is immutable: each change makes a new one with the same `id`. */
export interface ChatTurn {
  readonly id: string
  readonly message: string
  /** After `history`, without `data` if the server no longer keeps the bytes; `size` is their number. */
  readonly attachments: readonly (ChatAttachment & { readonly size?: number })[]
  readonly status: ChatTurnStatus
  /** The reply so far; empty if it is a `file`, if the turn failed, and if an event was taken in silence. */
  readonly text: string
  /** The reply if its content type is not `text/plain`; `file.type` has the type. */
  readonly file?: Blob
  /** What the reply carries beside its text: buttons, cards, forms, files. Absent if there is nothing. */
  readonly parts?: readonly ChatPart[]
  /** After `history` and `refresh`: what the turn took in place of a message, and who sent it. */
  readonly event?: { readonly name: string; readonly by?: string; readonly payload?: unknown }
  readonly failure?: {
    /** Such as `MODEL_ERROR`. */
    readonly code: string
    readonly message: string
  }
}

/** A turn whose message waits to be sent. */
export function turnOf({ text, attachments = [] }: ChatMessage, status: ChatTurnStatus, id: string): ChatTurn {
  return { id, message: text, attachments, status, text: '' }
}

/**
 * The turn after one of its events.
 *
 * @param mayBeStored - Whether the turn may be stored although it failed.
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

/** The reply of an outcome: its text or its file, and its parts. */
export function contentOf({
  message,
  contentType,
  encoding,
  parts,
}: Pick<ChatOutcome, 'message' | 'contentType' | 'encoding' | 'parts'>): Pick<ChatTurn, 'text' | 'file' | 'parts'> {
  const beside = parts && { parts }
  if (encoding === undefined && contentType === 'text/plain') return { text: message, ...beside }
  const content = encoding === 'base64' ? Uint8Array.from(atob(message), (byte) => byte.charCodeAt(0)) : message
  return { text: '', file: new Blob([content], { type: contentType }), ...beside }
}

/** The status of a turn that ended without a failure or a reply. */
const withdrawn: Readonly<Record<string, ChatTurnStatus>> = { TURN_ABORTED: 'stopped', TURN_SUPERSEDED: 'superseded' }

/** The text of a stopped reply stays, because the user has seen it. */
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
