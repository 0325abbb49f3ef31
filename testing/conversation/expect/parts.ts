/** Checks what a reply carries beside its text. */
import type { ReplyPart } from '../../../src/index.js'
import { differences, show } from '../../expectations/expectation-error.js'
import { isListOf, isObject } from '../../expectations/value-kinds.js'
import type { ConversationTurn } from '../turns/conversation-turn.js'
import { failureInstead, type Problem } from './problem.js'
import type { PartOf } from './session.js'

/** Checks the parts of a reply: all of them, each with the fields that are expected. */
export function partsProblem(turn: ConversationTurn, expected: readonly PartOf<ReplyPart>[]): Problem | undefined {
  if (!isListOf(expected, isObject)) {
    return { text: `expectParts needs a list of parts, each whole or with some fields; got ${show(expected)}.` }
  }
  const failure = failureInstead(turn, 'a reply with parts', expected)
  if (failure !== undefined) return failure
  const { parts = [] } = turn.reply
  const differing = differences(expected, parts, 'parts')
  if (differing.length === 0) return undefined
  return {
    text: `The parts of the reply are not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\n  the parts: ${show(parts, 2000)}`,
    expected,
    actual: parts,
  }
}
