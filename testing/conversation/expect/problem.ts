/**
 * What is wrong with a turn, in words: what every expectation answers with, or nothing. The conversation throws it.
 */
import { causesText, thrownText } from '../../expectations/author-frames.js'
import { ExpectationError, show } from '../../expectations/expectation-error.js'
import type { ConversationTurn } from '../turns/conversation-turn.js'

/** What is wrong, and the two values that differ, where there are two. */
export interface Problem {
  readonly text: string
  readonly expected?: unknown
  readonly actual?: unknown
  /** The error behind it, for runners that show it. */
  readonly cause?: unknown
  /** The turn that it is about. Default: the last one. */
  readonly turn?: ConversationTurn
}

/** The problem of a turn that failed unexpectedly. @param what - What failed, in words. Default: the turn. */
export function failureOf({ said, reply }: ConversationTurn, what = `The turn ${show(said, 60)}`): Problem | undefined {
  if (reply.success) return undefined
  const { error } = reply
  return {
    text: `${what} failed with ${error?.code ?? 'no code'}: ${reply.message}${causesText(error, reply.message)}`,
    cause: error?.cause ?? error,
  }
}

/** The same where an expectation needs a turn that succeeded: with what was expected. */
export function failureInstead(turn: ConversationTurn, wanted: string, expected?: unknown): Problem | undefined {
  const failure = failureOf(turn)
  return failure && { ...failure, text: `Expected ${wanted}, but the turn failed.\n${failure.text}`, expected }
}

/** The problem of a turn after which the session could not be read, for what needs the session. */
export function unreadProblem({ said, unread }: ConversationTurn): Problem | undefined {
  if (unread === undefined) return undefined
  const { error } = unread
  const why = ExpectationError.isInstance(error) ? error.message : `The store threw ${thrownText(error)}`
  return { text: `The session could not be read after the turn ${show(said, 60)}. ${why}`, cause: error }
}
