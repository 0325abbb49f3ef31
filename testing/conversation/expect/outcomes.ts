/** Checks the outcomes of the messages of `atOnce`. */
import type { FlowErrorCode } from '../../../src/index.js'
import { count, show } from '../../expectations/expectation-error.js'
import { firstUnknownName } from '../../expectations/known-names.js'
import { isListOf, isObject } from '../../expectations/value-kinds.js'
import type { ConversationTurn } from '../turns/conversation-turn.js'
import { failureOf, type Problem } from './problem.js'
import { type ExpectedReply, errorProblem, isWholeReply, replyProblem } from './reply.js'

/** The expected outcome of a message of `atOnce`: its reply, or more of it. @inline */
export type ExpectedOutcome =
  | ExpectedReply
  | {
      readonly reply?: ExpectedReply
      readonly code?: never
      /** Whether it got the reply of another message with the same key. Default: not checked. */
      readonly replayed?: boolean
    }
  | {
      /** The code of the failure. */
      readonly code: FlowErrorCode
      /** Its text. */
      readonly reply?: string | RegExp
      readonly replayed?: boolean
    }

const outcomeNames = { reply: true, code: true, replayed: true }

/** Checks the outcomes of the messages of `atOnce`. */
export function outcomesProblem(
  turns: readonly ConversationTurn[],
  expected: readonly ExpectedOutcome[],
): Problem | undefined {
  if (!isListOf(expected, (one) => isWholeReply(one) || isObject(one))) {
    const outcomes = 'a list of outcomes, each a reply or { reply, code, replayed }'
    return { text: `expectReplies needs ${outcomes}; got ${show(expected)}.` }
  }
  if (turns.length !== expected.length) {
    const were = turns.length === 1 ? 'was' : 'were'
    return {
      text: `Expected ${count(expected.length, 'outcome')}, but ${count(turns.length, 'message')} ${were} sent.`,
    }
  }
  const misspelt = firstUnknownName(
    'expectReplies',
    expected.filter((outcome): outcome is Exclude<ExpectedOutcome, ExpectedReply> => !isWholeReply(outcome)),
    outcomeNames,
  )
  if (misspelt !== undefined) return { text: misspelt }
  if (expected.some((outcome) => !isWholeReply(outcome) && Object.keys(outcome).length === 0)) {
    const advice = 'write its reply, { code } or { replayed }; /(?:)/ fits any reply.'
    return { text: `expectReplies would check nothing of a message whose outcome is {}: ${advice}` }
  }
  for (const [index, turn] of turns.entries()) {
    const problem = outcomeProblem(turn, expected[index] as ExpectedOutcome)
    if (problem !== undefined) {
      return { ...problem, turn, text: `Message ${index + 1}, ${show(turn.said, 60)}: ${problem.text}` }
    }
  }
  return undefined
}

function outcomeProblem(turn: ConversationTurn, expected: ExpectedOutcome): Problem | undefined {
  if (isWholeReply(expected)) return replyProblem(turn, expected)
  const { replayed = turn.reply.replayed === true } = expected
  const problem =
    expected.code === undefined
      ? successProblem(turn, expected.reply)
      : errorProblem(turn, expected.code, expected.reply)
  if (problem !== undefined || replayed === (turn.reply.replayed === true)) return problem
  const but = replayed
    ? 'the reply of an earlier turn, but it was run'
    : 'its own turn, but it got the reply of another message'
  return { text: `Expected ${but}.` }
}

function successProblem(turn: ConversationTurn, reply: ExpectedReply | undefined): Problem | undefined {
  return reply === undefined ? failureOf(turn) : replyProblem(turn, reply)
}
