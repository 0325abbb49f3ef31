/**
 * A step that a model runs: it says what the model is told and may do, and what becomes of the answer. The loop around
 * the model is the engine's.
 */
import type { ModelSelection } from '../model/model-provider.js'
import { type Awaitable, BaseStep } from './base-step.js'
import type { Tool } from './tool.js'
import type { Transition } from './transition.js'
import type { Turn } from './turn.js'

/**
 * A step that a model runs.
 *
 * @typeParam State - The shape of `state`: plain JSON. Default: no properties.
 * @example
 * ```ts
 * class AskName extends Step<{ name?: string }> {
 *   static override readonly id = 'AskName'
 *   override prompt() { return 'Ask for the full name, then call capture_name.' }
 *   override tools() { return [captureName(this)] }
 * }
 * ```
 */
export abstract class Step<State extends object = object> extends BaseStep<State> {
  /** The memory namespace: steps that name the same one share their messages. Default: the step's ID. */
  readonly memory: string | undefined = undefined

  /**
   * Whether the text of the answer is sent while it is made, where somebody reads the stream of the turn. Default: where
   * nothing can become of it but the reply, that is without `onReply` and `output`.
   */
  readonly stream: boolean | undefined = undefined

  /** The system prompt of each model call. Not stored. Default: none. */
  prompt(_turn: Turn): Awaitable<string> {
    return ''
  }

  /** The tools the model may call in this step, beside the flow's own. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /** This step's own model. Its parameters are merged with the flow's where both name the same one. Default: the flow's. */
  model(): ModelSelection | undefined {
    return undefined
  }

  /**
   * What becomes of the model's answer: the text to send, `retry(reason)` to have it answer again, or a transition.
   * Default: the text as it is.
   */
  onReply(text: string, _turn: Turn): Awaitable<string | Transition> {
    return text
  }
}
