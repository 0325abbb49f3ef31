/** The problem of a turn, in words. Every expectation returns one, or nothing; the conversation throws it. */
import { causesText, thrownText } from '../../expectations/author-frames.js'
import { ExpectationError } from '../../expectations/expectation-error.js'
import { type ConversationTurn, shownSaid } from '../turns/conversation-turn.js'

/** A problem, and the two differing values, if there are two. */
export interface Problem {
  readonly text: string
  readonly expected?: unknown
  readonly actual?: unknown
  /** The cause, for test runners that show it. */
  readonly cause?: unknown
  /** The turn with the problem. Default: the last one. */
  readonly turn?: ConversationTurn
}

/** The problem of an unexpectedly failed turn. @param what - The name of what failed. Default: the turn. */
export function failureOf(turn: ConversationTurn, what = `The turn ${shownSaid(turn)}`): Problem | undefined {
  const { reply } = turn
  if (reply.success) return undefined
  const { error } = reply
  return {
    text: `${what} failed with ${error?.code ?? 'no code'}: ${reply.message}${causesText(error, reply.message)}`,
    cause: error?.cause ?? error,
  }
}

/** The same for an expectation that needs a successful turn; adds what was expected. */
export function failureInstead(turn: ConversationTurn, wanted: string, expected?: unknown): Problem | undefined {
  const failure = failureOf(turn)
  return failure && { ...failure, text: `Expected ${wanted}, but the turn failed.\n${failure.text}`, expected }
}

/** The problem of a turn after which the session could not be read, for expectations that need the session. */
export function unreadProblem(turn: ConversationTurn): Problem | undefined {
  const { unread } = turn
  if (unread === undefined) return undefined
  const { error } = unread
  const why = ExpectationError.isInstance(error) ? error.message : `The store threw ${thrownText(error)}`
  return { text: `The session could not be read after the turn ${shownSaid(turn)}. ${why}`, cause: error }
}
