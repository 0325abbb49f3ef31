/** A client's knowledge of one message that it sent, perhaps many times, under one key. */
import type { TurnRecord } from '../storm/turn-record.js'

/** One reply, as it came. */
export interface KeyedAnswer {
  readonly at: number
  readonly status: number
  readonly contentType: string
  /** The headers `CHAT_SESSION_ID`, `Chat-Session-State` and `Chat-Error`; empty if absent. */
  readonly session: string
  readonly state: string
  readonly code: string
  /** Whether it had `Chat-Replayed: true`. */
  readonly isReplayed: boolean
  readonly body: string
}

/** One message. */
export interface KeyedTurn extends Omit<TurnRecord, 'answer'> {
  /** Replies, in the order in which they came. */
  readonly answers: KeyedAnswer[]
  /** How often it was sent. What has no answer was lost: the connection was cut, or the worker killed. */
  sent: number
}

/** A failure that could not be stored says so: another process may have stored its own. */
const notStored = 'Saving the aborted session failed'

/**
 * Whether a reply is the turn's final outcome: the flow's reply, or the failure that aborted the session. Any other
 * failure asks the client to send the message again. A client that names no aborted session can tell the two apart; a
 * conflict has nothing to do with the message.
 */
export function isOutcome(answer: KeyedAnswer): boolean {
  if (isSuccess(answer)) return true
  return answer.state === 'aborted' && answer.code !== 'SESSION_CONFLICT' && !answer.body.includes(notStored)
}

/** Whether a reply is the flow's. */
export function isSuccess({ status }: KeyedAnswer): boolean {
  return status === 200
}

/** What must be the same in every outcome of a message. The state is today's, and changes. */
export function textOf({ status, contentType, session, code, body }: KeyedAnswer): string {
  return JSON.stringify([status, contentType, session, code, body])
}

/** The first outcome; `undefined` if there was none. */
export function outcomeOf({ answers }: KeyedTurn): KeyedAnswer | undefined {
  return answers.find(isOutcome)
}

/** The message and its first outcome, as the verdict on storms reads them. */
export function recordOf(turn: KeyedTurn): TurnRecord {
  const { message, slot, asked, sentAt } = turn
  const outcome = outcomeOf(turn)
  if (outcome === undefined) return { message, slot, asked, sentAt }
  const { at, session, code, body } = outcome
  const reply = (JSON.parse(body) as { message: string }).message
  return {
    message,
    slot,
    asked,
    sentAt,
    answer: { at, session, outcome: isSuccess(outcome) ? 'acknowledged' : code, reply },
  }
}
