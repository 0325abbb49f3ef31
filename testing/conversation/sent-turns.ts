/**
 * Adds the outcomes of messages to the record of a conversation, in the order of their turns, and keeps the session of
 * the next message.
 */
import type { SentAtOnce, SentMessage } from './client.js'
import type { ConversationOptions } from './conversation-options.js'
import type { ConversationRecord } from './conversation-record.js'
import type { ConversationTurn } from './turns/conversation-turn.js'
import { nextNumber } from './turns/turn-names.js'

/** The turns of the messages that were sent. */
export class SentTurns {
  /** The session of the next message; empty before the first. */
  sessionId = ''
  /** Whether the engine was replaced since the last turn. */
  restarted = false
  readonly #record: ConversationRecord
  readonly #coverage: ConversationOptions['coverage']

  constructor(record: ConversationRecord, coverage: ConversationOptions['coverage']) {
    this.#record = record
    this.#coverage = coverage
  }

  /** Records the outcome of a message. */
  add(sent: SentMessage): ConversationTurn {
    const { reply, stoppedAfter, diedAfter } = sent
    if (reply.session !== '') this.sessionId = reply.session
    const { turns, start } = this.#record
    const isCounted = sent.unread !== undefined && sent.isNoTurn !== true && reply.replayed !== true
    // The number that could not be read.
    const number = isCounted ? { number: nextNumber({ session: this.sessionId }, { turns, running: [], start }) } : {}
    const turn = { ...sent, ...number, afterRestart: this.restarted && diedAfter === undefined }
    this.#record.turns.push(turn)
    this.#coverage?.addTurn(turn, this.#record)
    this.restarted = diedAfter !== undefined
    this.#record.unexpected = reply.success || stoppedAfter !== undefined ? undefined : turn
    return turn
  }

  /** Records the attempts at one message, in their order. */
  addAttempts(sent: readonly SentMessage[]): void {
    const turns = sent.map((one) => this.add(one))
    if (this.#record.unexpected !== undefined) this.#record.unexpected = causedBy(turns, this.#record.unexpected)
  }

  /**
   * Records the outcomes of messages that were sent at once, in the order of their turns; those that became no turn
   * keep their places.
   *
   * @returns The same in the order of the messages.
   */
  addInOrder(sent: readonly SentAtOnce[]): readonly ConversationTurn[] {
    const numbered = sent.filter(({ number }) => number !== undefined)
    const isOneSession = new Set(numbered.map((one) => one.sent.reply.session)).size === 1
    if (isOneSession) numbered.sort((one, other) => (one.number as number) - (other.number as number))
    const inOrder = sent.map((one) => (one.number === undefined ? one : (numbered.shift() as typeof one)))
    const turns = new Map(inOrder.map((one) => [one, this.add(one.sent)] as const))
    const outcomes = sent.map((one) => turns.get(one) as ConversationTurn)
    this.#record.unexpected = outcomes.find(({ reply, stoppedAfter }) => !reply.success && stoppedAfter === undefined)
    return outcomes
  }
}

/** The attempt that shows the reason for a failure: a repeat gets the recorded reply, whose error has no cause. */
function causedBy(turns: readonly ConversationTurn[], failed: ConversationTurn): ConversationTurn {
  const { error, message } = failed.reply
  const isAlike = ({ reply }: ConversationTurn): boolean =>
    reply.error?.cause !== undefined && reply.error.code === error?.code && reply.message === message
  return isAlike(failed) ? failed : (turns.find(isAlike) ?? failed)
}
