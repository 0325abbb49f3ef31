/** Checks the tool calls of a turn. */
import { count, differences, show } from '../../expectations/expectation-error.js'
import { firstUnknownName } from '../../expectations/known-names.js'
import { isListOf, isObject } from '../../expectations/value-kinds.js'
import { type ConversationToolCall, type ConversationTurn, toolCallsOf } from '../turns/conversation-turn.js'
import { type Problem, unreadProblem } from './problem.js'

/** An expected tool call: its name, or more of it. @inline */
export type ExpectedToolCall =
  | string
  | {
      readonly name: string
      /** Some of the arguments, as the model wrote them. */
      readonly input?: unknown
      /** The result that the model received, or part of it; a text may be a RegExp. */
      readonly output?: unknown
      /** Whether the call was refused or failed. */
      readonly isError?: boolean
    }

const callNames = { name: true, input: true, output: true, isError: true }

/** Checks the tool calls of the turn: all of them, in order. */
export function toolCallsProblem(turn: ConversationTurn, expected: readonly ExpectedToolCall[]): Problem | undefined {
  const calls = toolCallsOf(turn)
  if (!isListOf(expected, (call) => typeof call === 'string' || isObject(call))) {
    return { text: `expectToolCalls needs a list of names, or of objects with a name; got ${show(expected)}.` }
  }
  const wanted = expected.map((call) => (typeof call === 'string' ? { name: call } : call))
  const misspelt = firstUnknownName('expectToolCalls', wanted, callNames)
  if (misspelt !== undefined) return { text: misspelt }
  const differing =
    calls.length === wanted.length
      ? wanted.flatMap((call, index) => callDifferences(call, calls[index] as ConversationToolCall, index + 1))
      : [`expected ${count(wanted.length, 'call')}, got ${calls.length}`, ...differingNames(wanted, calls)]
  if (differing.length === 0) return undefined
  // The results of the calls are in the session.
  const unread = unreadProblem(turn)
  const unreadText = unread === undefined ? '' : `\n${unread.text}`
  const made = calls.map((call, index) => `  ${index + 1}. ${shownCall(call)}`)
  return {
    text: `The tool calls of the turn are not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\nThe calls:${made.length === 0 ? ' none' : `\n${made.join('\n')}`}${unreadText}`,
    expected: wanted,
    actual: calls,
  }
}

interface Named {
  readonly name: string
}

/** Which of the expected calls are missing, and which calls were not expected, by their names. */
function differingNames(wanted: readonly Named[], calls: readonly Named[]): string[] {
  // All calls are listed below.
  if (wanted.length === 0) return []
  const missing: string[] = []
  let left = [...calls.entries()]
  const notExpected: typeof left = []
  for (const [index, { name }] of wanted.entries()) {
    const at = left.findIndex(([, call]) => call.name === name)
    if (at < 0) missing.push(`missing: ${name}, call ${index + 1} of the expected ones`)
    notExpected.push(...left.slice(0, Math.max(0, at)))
    left = left.slice(at + 1)
  }
  return [
    ...missing,
    ...[...notExpected, ...left].map(([index, { name }]) => `not expected: ${name}, call ${index + 1}`),
  ]
}

function callDifferences(
  wanted: Exclude<ExpectedToolCall, string>,
  { name, input, output, isError }: ConversationToolCall,
  number: number,
): string[] {
  const path = `call ${number}`
  if (wanted.name !== name) return [`${path}: expected ${wanted.name}, got ${name}`]
  return [
    ...('input' in wanted ? differences(wanted.input, input, `${path}, input`) : []),
    ...('output' in wanted ? differences(wanted.output, output, `${path}, output`) : []),
    ...(wanted.isError === undefined ? [] : differences(wanted.isError, isError === true, `${path}, isError`)),
  ]
}

function shownCall({ name, input, output, isError }: ConversationToolCall): string {
  return `${name} ${show(input)}${output === undefined ? '' : `${isError ? ' failed: ' : ' = '}${show(output)}`}`
}
