/**
 * The expectations of a `Conversation` as matchers for vitest's `expect`. The conversation checks them and writes the
 * messages.
 */
import type { FlowErrorCode, StateOf, StepConstructor } from '../../src/index.js'
import type { ReplySchema } from '../conversation/expect/reply.js'
import type { PartOf } from '../conversation/expect/session.js'
import type { ExpectedToolCall } from '../conversation/expect/tool-calls.js'
import { ExpectationError, show } from '../expectations/expectation-error.js'
import { Conversation } from '../index.js'
import type { ExpectedRequest } from '../scripted-model/scripted-model.js'

/** A matcher that only a conversation has: `expect('text').toBeAtStep(...)` does not compile. */
export type OfConversation<T, Matcher> = T extends Conversation ? Matcher : never

/** The matchers of `expect(conversation)`. Each checks the last turn. */
export interface ConversationMatchers<T = unknown> {
  /** The reply: its whole text, a RegExp for a part, or a Standard Schema for the JSON in it. */
  readonly toHaveReplied: OfConversation<T, (expected: string | RegExp | ReplySchema) => void>
  /** The current step: a class or its ID. */
  readonly toBeAtStep: OfConversation<T, (step: StepConstructor | string) => void>
  /** Part of a step's stored state. */
  readonly toHaveState: OfConversation<
    T,
    <Target extends StepConstructor>(step: Target, state: PartOf<StateOf<Target>>) => void
  >
  /** The conversation reached an end step, and the session is stored as completed. */
  readonly toBeCompleted: OfConversation<T, () => void>
  /** The tool calls that the model made in the turn: all of them, in order. */
  readonly toHaveCalledTools: OfConversation<T, (calls: readonly ExpectedToolCall[]) => void>
  /** The request that the model received in the turn. */
  readonly toHaveAskedModel: OfConversation<T, (asked: ExpectedRequest) => void>
  /** The turn failed with this code, and with this text: the whole text, or a RegExp for a part. */
  readonly toHaveFailedWith: OfConversation<T, (code: FlowErrorCode, message?: string | RegExp) => void>
}

/** The result of a matcher. */
export interface MatcherResult {
  readonly pass: boolean
  /** The message of a failure. */
  readonly message: () => string
  readonly expected?: unknown
  readonly actual?: unknown
}

/** The `this` of a matcher. */
export interface MatcherContext {
  readonly isNot: boolean
}

/** One matcher, as `expect.extend` takes it. */
export type Matcher<Expected extends readonly unknown[]> = (
  this: MatcherContext,
  received: unknown,
  ...expected: Expected
) => MatcherResult

/** The matchers, for an `expect` of your own: `expect.extend(matchers)`. */
export const matchers: {
  readonly toHaveReplied: Matcher<[expected: string | RegExp | ReplySchema]>
  readonly toBeAtStep: Matcher<[step: StepConstructor | string]>
  readonly toHaveState: Matcher<[step: StepConstructor, state: PartOf<object>]>
  readonly toBeCompleted: Matcher<[]>
  readonly toHaveCalledTools: Matcher<[calls: readonly ExpectedToolCall[]]>
  readonly toHaveAskedModel: Matcher<[asked: ExpectedRequest]>
  readonly toHaveFailedWith: Matcher<[code: FlowErrorCode, message?: string | RegExp]>
} = {
  toHaveReplied: matcher('toHaveReplied', (conversation, expected) => conversation.expectReply(expected)),
  toBeAtStep: matcher('toBeAtStep', (conversation, step) => conversation.expectStep(step)),
  toHaveState: matcher('toHaveState', (conversation, step, state) => conversation.expectState(step, state)),
  toBeCompleted: matcher('toBeCompleted', (conversation) => conversation.expectCompleted()),
  toHaveCalledTools: matcher('toHaveCalledTools', (conversation, calls) => conversation.expectToolCalls(calls)),
  toHaveAskedModel: matcher('toHaveAskedModel', (conversation, asked) => conversation.expectAsked(asked)),
  toHaveFailedWith: matcher('toHaveFailedWith', (conversation, code, message) =>
    conversation.expectError(code, message),
  ),
}

function matcher<Expected extends readonly unknown[]>(
  name: string,
  check: (conversation: Conversation, ...expected: Expected) => void,
): Matcher<Expected> {
  return function match(received, ...expected) {
    // `.not` inverts a result: what must fail in any case has to return the opposite.
    const failing = (text: string): MatcherResult => ({ pass: this.isNot, message: () => text })
    if (!(received instanceof Conversation)) {
      return failing(
        `${name} takes a Conversation of turnkeeper/testing: expect(conversation).${name}(...). It got ${show(received)}.`,
      )
    }
    if (this.isNot) {
      return failing(
        `A conversation has no .not.${name}: many wrong turns would satisfy it. Expect what the turn should be.`,
      )
    }
    try {
      check(received, ...expected)
      return { pass: true, message: () => '' }
    } catch (error) {
      if (!ExpectationError.isInstance(error)) throw error
      return { pass: false, message: () => error.message, expected: error.expected, actual: error.actual }
    }
  }
}
