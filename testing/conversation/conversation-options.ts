/** The options of a conversation, and of each of its messages. */
import type { FlowRunInput, JsonObject, SendEventInput, StepConstructor } from '../../src/index.js'
import { thrownText } from '../expectations/author-frames.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { ClientFault } from './client.js'
import type { ReplyJudge } from './expect/judged-meaning.js'
import type { SessionStart } from './session-start.js'
import type { ConversationWorldOptions } from './world/world-options.js'

/** The options of a `Conversation`, including the engine's options. */
export interface ConversationOptions extends ConversationWorldOptions {
  /** The `config` of the session's first turn. Default: none. */
  readonly config?: JsonObject
  /** The principal of every turn. Default: none. */
  readonly owner?: string
  /** Judges the meaning of replies, for `expectMeaning`. Default: none, so `expectMeaning` fails. */
  readonly judge?: ReplyJudge
}

/**
 * The options of `Conversation.at`: where the conversation begins, and the options of a conversation.
 *
 * @inline
 */
export interface StartedConversationOptions<
  Target extends StepConstructor | string,
  Others extends readonly StepConstructor[],
> extends ConversationOptions,
    SessionStart<Target, Others> {
  /** The step that receives the first message: its class or its ID. */
  readonly step: Target
  /**
   * The steps that wait for its return, the first one first: classes or IDs. Default: for a step of a flow among the
   * steps, the first step of each flow around it; for any other step none, so that it cannot return.
   */
  readonly callers?: readonly (StepConstructor | string)[]
}

/** The options of `say`, for this turn only. */
export interface SayInput extends Partial<Omit<FlowRunInput, 'flowName' | 'userMessage' | 'idempotencyKey'>> {
  /**
   * The idempotency key of the message. Any short name will do: a name that is not shaped like a key always stands for
   * the same key. Default: none.
   */
  readonly key?: string
  /** A network fault of the message: see `retryAs`. Only for `say`. Default: none. */
  readonly fault?: ClientFault
}

/** The options of `fill`, for each of its messages. */
export type FillInput = Omit<SayInput, 'key' | 'fault' | 'event' | 'choice' | 'attachments' | 'sessionId'>

/** The options of `sendEvent`, for this turn only. */
export interface EventInput extends Partial<Omit<SendEventInput, 'event' | 'payload' | 'idempotencyKey'>> {
  /** The idempotency key of the event, as for a message. Default: none. */
  readonly key?: string
}

/** A message of `atOnce`: its text, or more of it. @inline */
export type MessageAtOnce = string | ({ readonly text: string } & Omit<SayInput, 'fault'>)

/**
 * The options for the engine: without the options of turns, which the engine would refuse, and with the test's
 * functions wrapped, so that their errors fail the test.
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

/** The same function; its error becomes the cause of an `ExpectationError`. */
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
