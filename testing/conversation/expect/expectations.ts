/**
 * Whether the last turn of a conversation is what a test expects. Each check answers with the problem in words, or
 * nothing; the conversation throws.
 */
import {
  End,
  type FlowErrorCode,
  type SessionDocument,
  type StepConstructor,
  type ToolOptions,
} from '../../../src/index.js'
import { causesText, thrownText } from '../../expectations/author-frames.js'
import { unknownCodeText } from '../../expectations/error-codes.js'
import { count, differences, ExpectationError, fits, list, show } from '../../expectations/expectation-error.js'
import { unknownNameText } from '../../expectations/known-names.js'
import { isListOf, isObject, isStepClass, shownStep } from '../../expectations/value-kinds.js'
import { type ConversationToolCall, type ConversationTurn, toolCallsOf } from '../turns/conversation-turn.js'

/** A Standard Schema (Zod, Valibot, ArkType). @inline */
export type ReplySchema = NonNullable<ToolOptions['input']>

/**
 * Some of a value: objects may leave properties out, at every depth, and say `undefined` of what must not be there;
 * lists are whole; a text may be a RegExp.
 */
export type PartOf<T> = T extends string
  ? T | RegExp
  : T extends readonly (infer Entry)[]
    ? readonly PartOf<Entry>[]
    : T extends object
      ? { readonly [Key in keyof T]?: PartOf<T[Key]> | undefined }
      : T

/** A tool call that is expected: its name, or more of it. @inline */
export type ExpectedToolCall =
  | string
  | {
      readonly name: string
      /** Some of the arguments, as the model wrote them. */
      readonly input?: unknown
      /** Part of the request that the model received; a text may be a RegExp. */
      readonly output?: unknown
      /** Whether the call was refused or failed. */
      readonly isError?: boolean
    }

/**
 * A text, a pattern that the reply matches, or a schema for its JSON.
 *
 * @inline
 */
export type ExpectedReply = string | RegExp | ReplySchema

/** An outcome that is expected of a message of `atOnce`: its reply, or more of it. @inline */
export type ExpectedOutcome =
  | ExpectedReply
  | {
      readonly reply?: ExpectedReply
      readonly code?: never
      /** Whether it got the reply of another message with the same key. Default: either. */
      readonly replayed?: boolean
    }
  | {
      /** The code of the failure. */
      readonly code: FlowErrorCode
      /** Its text. */
      readonly reply?: string | RegExp
      readonly replayed?: boolean
    }

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

/**
 * Finds whether a statement about a reply is true: a `Judge` of `turnkeeper/testing/judge`, or one of your own.
 */
export interface ReplyJudge {
  /**
   * Milliseconds of real time after which `expectMeaning` fails if `problemOf` has not settled. `Infinity`: never, as
   * for a `Judge`, whose option `hangAfterMs` ends each call of its model. Default 30 000.
   */
  readonly hangAfterMs?: number
  /** What is wrong; `undefined` if the statement is true of the reply. */
  problemOf(question: {
    /** The statement. */
    readonly meaning: string
    /** What the user said. */
    readonly message: string
    readonly reply: string
  }): Promise<{ readonly text: string; readonly cause?: unknown } | undefined>
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

/** The reply: its whole text, a part of it, or a schema of its JSON. */
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

/** Whether only a failure is not expected: an empty pattern matches every reply. */
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
    // Its rejection must not become an unhandled one.
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

/** The current step. */
export function stepProblem(
  document: SessionDocument | undefined,
  expected: StepConstructor | string,
  known: readonly string[],
): Problem | undefined {
  if (typeof expected !== 'string' && !isStepClass(expected)) {
    return { text: `expectStep needs a step of the flow, or its ID; got ${shownStep(expected)}.` }
  }
  const id = typeof expected === 'string' ? expected : expected.id
  const actual = document?.flow.currentStep ?? undefined
  if (actual === id) return undefined
  const steps = new Set([...known, End.id])
  const unknown = steps.has(id) ? '' : `\n  The flow has no step '${id}'; its steps: ${list(steps)}.`
  const nowhere = document === undefined ? 'nothing is stored yet' : 'no step was entered yet'
  const at = actual === undefined ? nowhere : `it is at '${actual}'`
  return { text: `Expected the conversation to be at step '${id}', but ${at}.${unknown}`, expected: id, actual }
}

/**
 * Some of a step's state.
 *
 * @param doubles - The tools that did not run themselves: what they would have written to the state is missing.
 */
export function stateProblem(
  document: SessionDocument | undefined,
  step: StepConstructor,
  expected: unknown,
  doubles: readonly string[] = [],
): Problem | undefined {
  if (!isStepClass(step)) return { text: `expectState needs the class of a step; got ${shownStep(step)}.` }
  if (!isObject(expected)) {
    return { text: `expectState needs some properties of the state, as an object; got ${show(expected)}.` }
  }
  const steps = document?.flow.steps ?? {}
  const state = Object.hasOwn(steps, step.id) ? steps[step.id]?.state : undefined
  if (state === undefined) {
    return {
      text: `Expected state of step '${step.id}', but none is stored. Steps with state: ${list(Object.keys(steps))}.${doublesText(doubles)}`,
    }
  }
  if (Object.keys(expected).length === 0) {
    const advice = 'name a property of the state; undefined expects that it is missing.'
    return {
      text: `expectState would check nothing, because {} has no properties: ${advice}\n  the whole state: ${show(state, 1000)}`,
    }
  }
  const differing = differences(expected, state)
  if (differing.length === 0) return undefined
  return {
    text: `The state of step '${step.id}' is not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\n  the whole state: ${show(state, 1000)}${doublesText(doubles)}`,
    expected,
    actual: state,
  }
}

function doublesText(doubles: readonly string[]): string {
  if (doubles.length === 0) return ''
  return `\nDoubles answered for these tools: ${list(doubles)}. What the tools write to the state is not written then, unless the double is a function that writes it: (args, turn) => { turn.stateOf(Step).name = ... }`
}

/** Whether the conversation is completed. */
export function completedProblem(turn: ConversationTurn): Problem | undefined {
  const failure = failureInstead(turn, 'the conversation to be completed')
  if (failure !== undefined) return failure
  const { document, unread, reply } = turn
  if (reply.completed && document?.runStatus === 'completed') return undefined
  if (reply.completed && unread !== undefined) return unreadProblem(turn)
  const stored = document === undefined ? 'nothing is stored' : `the session is stored as '${document.runStatus}'`
  const at = document?.flow.currentStep
  return {
    text: `Expected the conversation to be completed. The reply said completed: ${reply.completed}, and ${stored}${at ? ` at step '${at}'` : ''}.`,
  }
}

const callNames = { name: true, input: true, output: true, isError: true }
const outcomeNames = { reply: true, code: true, replayed: true }

function firstText<T>(entries: readonly T[], textOf: (entry: T) => string | undefined): string | undefined {
  for (const entry of entries) {
    const text = textOf(entry)
    if (text !== undefined) return text
  }
  return undefined
}

/** The tool calls of the turn, all of them, in order. */
export function toolCallsProblem(turn: ConversationTurn, expected: readonly ExpectedToolCall[]): Problem | undefined {
  const calls = toolCallsOf(turn)
  if (!isListOf(expected, (call) => typeof call === 'string' || isObject(call))) {
    return { text: `expectToolCalls needs a list of names, or of objects with a name; got ${show(expected)}.` }
  }
  const wanted = expected.map((call) => (typeof call === 'string' ? { name: call } : call))
  const misspelt = firstText(wanted, (call) => unknownNameText('expectToolCalls', call, callNames))
  if (misspelt !== undefined) return { text: misspelt }
  const differing =
    calls.length === wanted.length
      ? wanted.flatMap((call, index) => callDifferences(call, calls[index] as ConversationToolCall, index + 1))
      : [`expected ${count(wanted.length, 'call')}, got ${calls.length}`, ...expectedNames(wanted)]
  if (differing.length === 0) return undefined
  // What the calls returned is in the session.
  const unread = unreadProblem(turn)
  const unreadText = unread === undefined ? '' : `\n${unread.text}`
  const made = calls.map((call, index) => `  ${index + 1}. ${shownCall(call)}`)
  return {
    text: `The tool calls of the turn are not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\nThe calls:${made.length === 0 ? ' none' : `\n${made.join('\n')}`}${unreadText}`,
    expected: wanted,
    actual: calls,
  }
}

function expectedNames(wanted: readonly { readonly name: string }[]): string[] {
  return wanted.length === 0 ? [] : [`expected calls: ${list(wanted.map(({ name }) => name))}`]
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

/** The error that the turn failed with. */
export function errorProblem(
  { reply, said }: ConversationTurn,
  code: FlowErrorCode,
  message: string | RegExp | undefined,
): Problem | undefined {
  const { error } = reply
  const unknown = unknownCodeText(code)
  if (unknown !== undefined) return { text: `expectError: ${unknown}` }
  if (error === undefined) {
    return { text: `Expected the turn ${show(said, 60)} to fail with ${code}, but it succeeded.` }
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

/** Whether the message got the reply of an earlier turn. */
export function replayedProblem({ reply, said, key }: ConversationTurn): Problem | undefined {
  if (reply.replayed === true) return undefined
  const why = key === undefined ? ' It had no key: say(text, { key }).' : ''
  return { text: `Expected ${show(said, 60)} to get the reply of an earlier turn, but it was run.${why}` }
}

/** What became of the messages of `atOnce`. */
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
  const misspelt = firstText(expected, (outcome) =>
    isWholeReply(outcome) ? undefined : unknownNameText('expectReplies', outcome, outcomeNames),
  )
  if (misspelt !== undefined) return { text: misspelt }
  for (const [index, turn] of turns.entries()) {
    const problem = outcomeProblem(turn, expected[index] as ExpectedOutcome)
    if (problem !== undefined) {
      return { ...problem, turn, text: `Message ${index + 1}, ${show(turn.said, 60)}: ${problem.text}` }
    }
  }
  return undefined
}

function isWholeReply(expected: unknown): expected is ExpectedReply {
  if (typeof expected === 'string' || expected instanceof RegExp) return true
  // The schemas of ArkType are functions.
  return (isObject(expected) || typeof expected === 'function') && '~standard' in expected
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
    : 'a turn of its own, but it got the reply of another message'
  return { text: `Expected ${but}.` }
}

function successProblem(turn: ConversationTurn, reply: ExpectedReply | undefined): Problem | undefined {
  return reply === undefined ? failureOf(turn) : replyProblem(turn, reply)
}
