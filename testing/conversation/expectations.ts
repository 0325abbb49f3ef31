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
} from '../../src/index.js'
import { count, differences, fits, list, show } from '../expectations/expectation-error.js'
import { type ConversationToolCall, type ConversationTurn, toolCallsOf } from './conversation-turn.js'

/** A Standard Schema (Zod, Valibot, ArkType). */
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

/** A tool call that is expected: its name, or more of it. */
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

/** An outcome that is expected of a message of `atOnce`: its reply, or more of it. */
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
}

/** The problem of a turn that failed unexpectedly. */
export function failureOf({ said, reply }: ConversationTurn): Problem | undefined {
  if (reply.success) return undefined
  const cause: unknown = reply.error?.cause
  const isShown = cause === undefined || (cause instanceof Error && cause.message === reply.message)
  const why = isShown ? '' : `\n  cause: ${show(cause, 1000)}`
  return {
    text: `The turn ${show(said, 60)} failed with ${reply.error?.code ?? 'no code'}: ${reply.message}${why}`,
  }
}

/** The reply: its whole text, a part of it, or a schema of its JSON. */
export function replyProblem(turn: ConversationTurn, expected: ExpectedReply): Problem | undefined {
  const failure = failureOf(turn)
  if (failure !== undefined) return failure
  const { message } = turn.reply
  if (typeof expected !== 'string' && !(expected instanceof RegExp)) return schemaProblem(expected, message)
  if (fits(expected, message)) return undefined
  const wanted = typeof expected === 'string' ? `the reply ${show(expected, 1000)}` : `a reply that matches ${expected}`
  return {
    text: `Expected ${wanted}\n  but it was ${show(message, 1000)}`,
    expected: typeof expected === 'string' ? expected : undefined,
    actual: message,
  }
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
  const id = typeof expected === 'string' ? expected : expected.id
  const actual = document?.flow.currentStep ?? undefined
  if (actual === id) return undefined
  const steps = new Set([...known, End.id])
  const unknown = steps.has(id) ? '' : `\n  The flow has no step '${id}'; its steps: ${list(steps)}.`
  const nowhere = document === undefined ? 'nothing is stored yet' : 'no step was entered yet'
  const at = actual === undefined ? nowhere : `it is at '${actual}'`
  return { text: `Expected the conversation to be at step '${id}', but ${at}.${unknown}`, expected: id, actual }
}

/** Some of a step's state. */
export function stateProblem(
  document: SessionDocument | undefined,
  step: StepConstructor,
  expected: unknown,
): Problem | undefined {
  const steps = document?.flow.steps ?? {}
  const state = Object.hasOwn(steps, step.id) ? steps[step.id]?.state : undefined
  if (state === undefined) {
    return {
      text: `Expected state of step '${step.id}', but none is stored. Steps with state: ${list(Object.keys(steps))}.`,
    }
  }
  const differing = differences(expected, state)
  if (differing.length === 0) return undefined
  return {
    text: `The state of step '${step.id}' is not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\n  the whole state: ${show(state, 1000)}`,
    expected,
    actual: state,
  }
}

/** Whether the conversation is completed. */
export function completedProblem(turn: ConversationTurn): Problem | undefined {
  const failure = failureOf(turn)
  if (failure !== undefined) return failure
  const { document, reply } = turn
  if (reply.completed && document?.runStatus === 'completed') return undefined
  const stored = document === undefined ? 'nothing is stored' : `the session is stored as '${document.runStatus}'`
  const at = document?.flow.currentStep
  return {
    text: `Expected the conversation to be completed. The reply said completed: ${reply.completed}, and ${stored}${at ? ` at step '${at}'` : ''}.`,
  }
}

/** The tool calls of the turn, all of them, in order. */
export function toolCallsProblem(turn: ConversationTurn, expected: readonly ExpectedToolCall[]): Problem | undefined {
  const calls = toolCallsOf(turn)
  const wanted = expected.map((call) => (typeof call === 'string' ? { name: call } : call))
  const differing =
    calls.length === wanted.length
      ? wanted.flatMap((call, index) => callDifferences(call, calls[index] as ConversationToolCall, index + 1))
      : [`expected ${count(wanted.length, 'call')}, got ${calls.length}`]
  if (differing.length === 0) return undefined
  const made = calls.map((call, index) => `  ${index + 1}. ${shownCall(call)}`)
  return {
    text: `The tool calls of the turn are not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\nThe calls:${made.length === 0 ? ' none' : `\n${made.join('\n')}`}`,
    expected: wanted,
    actual: calls,
  }
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
  if (error === undefined) {
    return { text: `Expected the turn ${show(said, 60)} to fail with ${code}, but it succeeded.` }
  }
  if (error.code !== code) {
    return {
      text: `Expected the turn to fail with ${code}, but it failed with ${error.code}: ${reply.message}`,
      expected: code,
      actual: error.code,
    }
  }
  if (message === undefined || fits(message, reply.message)) return undefined
  return {
    text: `The turn failed with ${code}, as expected, but not with this text: ${show(message)}\n  but ${show(reply.message, 1000)}`,
    expected: message,
    actual: reply.message,
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
  if (turns.length !== expected.length) {
    return { text: `Expected ${count(expected.length, 'outcome')}, but ${count(turns.length, 'message')} were sent.` }
  }
  for (const [index, turn] of turns.entries()) {
    const problem = outcomeProblem(turn, expected[index] as ExpectedOutcome)
    if (problem !== undefined) {
      return { ...problem, text: `Message ${index + 1}, ${show(turn.said, 60)}: ${problem.text}` }
    }
  }
  return undefined
}

function outcomeProblem(turn: ConversationTurn, expected: ExpectedOutcome): Problem | undefined {
  if (typeof expected === 'string' || expected instanceof RegExp || '~standard' in expected) {
    return replyProblem(turn, expected)
  }
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
