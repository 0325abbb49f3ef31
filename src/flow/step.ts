/**
 * Model steps: a model's prompt and tools, and the handling of its answer. The loop that calls the model and its tools
 * is in `src/engine/turn/steps/run-model-step.ts`.
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
 * A step that calls a model.
 *
 * @typeParam State - The shape of `state`: plain JSON. Default: no properties.
 * @typeParam Output - The output type of the schema in `output`. Default: text.
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
  /** The memory namespace: steps with the same namespace share their messages. Default: the step's ID. */
  readonly memory: string | undefined = undefined

  /**
   * Whether to stream the text of the answer while the model writes it, if the turn is streamed. Default: yes if the
   * step has neither `onReply` nor `output`, because only then is the answer certain to be the reply.
   */
  readonly stream: boolean | undefined = undefined

  /**
   * The structure that the answer must have: a Standard Schema (Zod, Valibot, ArkType), created once, outside the step.
   * The model receives its JSON Schema and answers in JSON; `onReply` receives the schema's output. Default: any text.
   */
  readonly output: StandardSchemaV1<unknown, Output> | undefined = undefined

  /** The JSON Schema of `output`, for a schema library that cannot generate one. */
  readonly outputJsonSchema: JsonObject | undefined = undefined

  /**
   * How many answers that do not match `output` the model may correct each time the step runs. The model receives the
   * validation errors. One more such answer fails the turn with `MODEL_ERROR`. A whole number; default 2. With 0, the
   * first such answer fails the turn.
   */
  readonly maxRepairs: number = 2

  /**
   * Milliseconds for one attempt at a model call of this step; for a streamed call, the limit applies between pieces. A
   * number above 0; `Infinity`: only the turn's limit applies. Default: the engine's limit `modelTimeoutMs`.
   */
  readonly modelTimeoutMs: number | undefined = undefined

  /**
   * Milliseconds for each tool call of this step, unless the tool has its own `toolTimeoutMs`. A number above 0;
   * `Infinity`: only the turn's limit applies. Default: the engine's limit `toolTimeoutMs`.
   */
  readonly toolTimeoutMs: number | undefined = undefined

  /** The system prompt of each model call. Not stored. Default: none. */
  prompt(_turn: Turn): Awaitable<string> {
    return ''
  }

  /** The tools that the model may call in this step, in addition to the flow's. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /**
   * This step's own model, or a list: the first model, then its fallbacks in order. If the flow selects the same model,
   * the parameters are merged over the flow's. Default: the flow's model.
   */
  model(): ModelChoice | undefined {
    return undefined
  }

  /**
   * Handles the model's answer: return the text to send, `retry(reason)` to request another answer, or another
   * transition. Default: a text is sent unchanged, anything else as JSON.
   */
  onReply(answer: Output, _turn: Turn): Awaitable<string | Transition> {
    return typeof answer === 'string' ? answer : JSON.stringify(answer)
  }

  /**
   * Called if no model answered after all attempts, or if a budget is used up. If it returns a transition, the turn
   * does not fail. Default: the flow's hook is called; if that returns nothing either, the turn fails.
   */
  onModelError(_error: ModelError | BudgetExceededError, _turn: Turn): Awaitable<Transition | void> {}

  /**
   * Called if a model refused to answer, or its provider's content filter blocked it. Like {@link Step.onModelError}.
   */
  onModelBlocked(_details: ModelBlockedDetails, _turn: Turn): Awaitable<Transition | void> {}
}
