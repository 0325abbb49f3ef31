/**
 * A step that a model runs: it says what the model is told and may do, and what becomes of the answer. The loop around
 * the model is the engine's.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { BudgetExceededError, ModelError } from '../errors/engine-errors.js'
import type { ModelChoice } from '../model/model-provider.js'
import type { JsonObject } from '../util/json.js'
import { type Awaitable, BaseStep } from './base-step.js'
import type { Tool } from './tool.js'
import type { Transition } from './transition.js'
import type { ModelBlockedDetails, Turn } from './turn.js'

/**
 * A step that a model runs.
 *
 * @typeParam State - The shape of `state`: plain JSON. Default: no properties.
 * @typeParam Output - What the schema in `output` gives. Default: text, without one.
 * @example
 * ```ts
 * class AskName extends Step<{ name?: string }> {
 *   static override readonly id = 'AskName'
 *   override prompt() { return 'Ask for the full name, then call capture_name.' }
 *   override tools() { return [captureName(this)] }
 * }
 * ```
 */
export abstract class Step<State extends object = object, Output = string> extends BaseStep<State> {
  /** The memory namespace: steps that name the same one share their messages. Default: the step's ID. */
  readonly memory: string | undefined = undefined

  /**
   * Whether the text of the answer is sent while it is made, where somebody reads the stream of the turn. Default: where
   * nothing can become of it but the reply, that is without `onReply` and `output`.
   */
  readonly stream: boolean | undefined = undefined

  /**
   * The form that the answer must have: a Standard Schema (Zod, Valibot, ArkType), made once, outside the step. The model
   * is told its JSON Schema and answers in JSON; `onReply` gets what the schema makes of it. Default: any text.
   */
  readonly output: StandardSchemaV1<unknown, Output> | undefined = undefined

  /** JSON Schema of `output`, for a schema that cannot give its own. */
  readonly outputJsonSchema: JsonObject | undefined = undefined

  /**
   * How often, each time the step runs, an answer that is not of the form of `output` goes back to the model, with the
   * reason. The next one fails the turn with `MODEL_ERROR`. A whole number; default 2; 0: none goes back.
   */
  readonly maxRepairs: number = 2

  /** The system prompt of each model call. Not stored. Default: none. */
  prompt(_turn: Turn): Awaitable<string> {
    return ''
  }

  /** The tools the model may call in this step, beside the flow's own. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /**
   * This step's own model, or a list of which each stands in for the one before it. Parameters are merged with the flow's
   * where both name the same one. Default: the flow's.
   */
  model(): ModelChoice | undefined {
    return undefined
  }

  /**
   * What becomes of the model's answer: the text to send, `retry(reason)` to have it answer again, or a transition.
   * Default: a text as it is, anything else as JSON.
   */
  onReply(answer: Output, _turn: Turn): Awaitable<string | Transition> {
    return typeof answer === 'string' ? answer : JSON.stringify(answer)
  }

  /**
   * Called where no model answered, after all attempts, or a budget is used up. A transition saves the turn. Default: the
   * flow's hook is asked, and then the turn fails.
   */
  onModelError(_error: ModelError | BudgetExceededError, _turn: Turn): Awaitable<Transition | void> {}

  /** Called where a model refused, or its provider's filter stopped it. As {@link Step.onModelError}. */
  onModelBlocked(_details: ModelBlockedDetails, _turn: Turn): Awaitable<Transition | void> {}
}
