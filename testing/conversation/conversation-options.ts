/** What a test gives a conversation, and each message of it. */
import type { FlowRunInput, JsonObject, StepConstructor } from '../../src/index.js'
import { thrownText } from '../expectations/author-frames.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { ClientFault } from './client.js'
import type { ReplyJudge } from './expect/judged-meaning.js'
import type { SessionStart } from './session-start.js'
import type { ConversationWorldOptions } from './world/world-options.js'

/** The options of a `Conversation`, including those of the engine. */
export interface ConversationOptions extends ConversationWorldOptions {
  /** The `config` of the session's first turn. Default: none. */
  readonly config?: JsonObject
  /** The principal of every turn. Default: none. */
  readonly owner?: string
  /** Judges what replies mean, for `expectMeaning`. Default: none, so that `expectMeaning` fails. */
  readonly judge?: ReplyJudge
}

/**
 * The options of `Conversation.at`: where the conversation begins, and those of the conversation.
 *
 * @inline
 */
export interface StartedConversationOptions<
  Target extends StepConstructor | string,
  Others extends readonly StepConstructor[],
> extends ConversationOptions,
    SessionStart<Target, Others> {
  /** Where the first message arrives: a step of the flow, or its ID. */
  readonly step: Target
}

/** What `say` takes with the text, for this turn only. */
export interface SayInput extends Partial<Omit<FlowRunInput, 'flowName' | 'userMessage' | 'idempotencyKey'>> {
  /**
   * The idempotency key of the message. Any short name will do: one that has not the shape of a key stands for the same
   * key each time. Default: none.
   */
  readonly key?: string
  /** What happens to the message on its way: see `retryAs`. Of `say` alone. Default: nothing. */
  readonly fault?: ClientFault
}

/** A message of `atOnce`: its text, or more of it. @inline */
export type MessageAtOnce = string | ({ readonly text: string } & Omit<SayInput, 'fault'>)

/**
 * The options without those of the turns, which the engine would refuse. What the test's own functions throw is a
 * failure.
 */
export function worldOptions({
  config: _config,
  owner: _owner,
  judge: _judge,
  ...options
}: ConversationOptions): ConversationWorldOptions {
  const { createStore, onEngine } = options
  return {
    ...options,
    ...(createStore === undefined ? {} : { createStore: failing('createStore()', createStore) }),
    ...(onEngine === undefined ? {} : { onEngine: failing('onEngine()', onEngine) }),
  }
}

/** The same function; what it throws, or rejects with, is the cause of an `ExpectationError`. */
function failing<Given extends unknown[], Made>(what: string, act: (...given: Given) => Made): typeof act {
  const fail = (error: unknown): never => {
    if (ExpectationError.isInstance(error)) throw error
    throw new ExpectationError(`${what} threw ${thrownText(error)}`, { cause: error })
  }
  return (...given) => {
    try {
      const made = act(...given)
      return made instanceof Promise ? (made.catch(fail) as Made) : made
    } catch (error) {
      return fail(error)
    }
  }
}
