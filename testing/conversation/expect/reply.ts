/** Checks the reply of a turn, or its failure. */
import type { FlowErrorCode, ToolOptions } from '../../../src/index.js'
import { causesText } from '../../expectations/author-frames.js'
import { unknownCodeText } from '../../expectations/error-codes.js'
import { fits, show } from '../../expectations/expectation-error.js'
import { isObject } from '../../expectations/value-kinds.js'
import { type ConversationTurn, shownSaid } from '../turns/conversation-turn.js'
import { failureInstead, failureOf, type Problem } from './problem.js'

/** A Standard Schema (Zod, Valibot, ArkType). @inline */
export type ReplySchema = NonNullable<ToolOptions['input']>

/**
 * A text, a pattern that the reply matches, or a schema for its JSON.
 *
 * @inline
 */
export type ExpectedReply = string | RegExp | ReplySchema

/** Checks the reply: its whole text, a part of it, or its JSON by a schema. */
export function replyProblem(turn: ConversationTurn, expected: ExpectedReply): Problem | undefined {
  if (!isWholeReply(expected)) {
    return { text: `A reply is expected as a text, a RegExp or a Standard Schema; got ${show(expected)}.` }
  }
  const isSchema = typeof expected !== 'string' && !(expected instanceof RegExp)
  const wanted = isSchema ? 'a reply that fits the schema' : wantedReply(expected)
  const failure = isAnyReply(expected) ? failureOf(turn) : failureInstead(turn, wanted, isSchema ? undefined : expected)
  if (failure !== undefined) return failure
  const { message } = turn.reply
  if (isSchema) return schemaProblem(expected, message)
  if (fits(expected, message)) return undefined
  return {
    text: `Expected ${wanted}\n  but it was ${show(message, 1000)}`,
    expected: typeof expected === 'string' ? expected : undefined,
    actual: message,
  }
}

function wantedReply(expected: string | RegExp): string {
  return typeof expected === 'string' ? `the reply ${show(expected, 1000)}` : `a reply that matches ${expected}`
}

/** Whether any reply will do: an empty pattern matches every reply. */
function isAnyReply(expected: ExpectedReply): boolean {
  return expected instanceof RegExp && expected.source === '(?:)'
}

function schemaProblem(schema: ReplySchema, message: string): Problem | undefined {
  let value: unknown
  try {
    value = JSON.parse(message)
  } catch {
    return { text: `Expected a JSON reply, but it was ${show(message, 1000)}` }
  }
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) {
    // Prevents an unhandled rejection.
    result.catch(() => undefined)
    return { text: 'The schema of the reply validates asynchronously; use one that answers at once.' }
  }
  if (result.issues === undefined) return undefined
  const issues = result.issues.map(({ message: text, path = [] }) => {
    const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
    return `  ${keys.join('.') || 'the value'}: ${text}`
  })
  return { text: `The reply does not fit the schema:\n${issues.join('\n')}\n  it was ${show(message, 1000)}` }
}

/** Whether a value is an expected reply, and not an object around one. */
export function isWholeReply(expected: unknown): expected is ExpectedReply {
  if (typeof expected === 'string' || expected instanceof RegExp) return true
  // The schemas of ArkType are functions.
  return (isObject(expected) || typeof expected === 'function') && '~standard' in expected
}

/** Checks the error of a failed turn. */
export function errorProblem(
  turn: ConversationTurn,
  code: FlowErrorCode,
  message: string | RegExp | undefined,
): Problem | undefined {
  const { reply } = turn
  const { error } = reply
  const unknown = unknownCodeText(code)
  if (unknown !== undefined) return { text: `expectError: ${unknown}` }
  if (error === undefined) {
    return { text: `Expected the turn ${shownSaid(turn)} to fail with ${code}, but it succeeded.` }
  }
  if (error.code !== code) {
    return {
      text: `Expected the turn to fail with ${code}, but it failed with ${error.code}: ${reply.message}${causesText(error, reply.message)}`,
      expected: code,
      actual: error.code,
      cause: error.cause ?? error,
    }
  }
  if (message === undefined || fits(message, reply.message)) return undefined
  return {
    text: `The turn failed with ${code}, as expected, but not with this text: ${show(message)}\n  but ${show(reply.message, 1000)}`,
    expected: message,
    actual: reply.message,
    cause: error.cause ?? error,
  }
}

/** Checks that the message got the reply of an earlier turn. */
export function replayedProblem({ reply, said, event, key }: ConversationTurn): Problem | undefined {
  if (reply.replayed === true) return undefined
  const call = event === undefined ? 'say(text, { key })' : 'sendEvent(name, payload, { key })'
  const why = key === undefined ? ` It had no key: ${call}.` : ''
  const sent = event === undefined ? show(said, 60) : `event '${event.name}'`
  return { text: `Expected ${sent} to get the reply of an earlier turn, but it was run.${why}` }
}
