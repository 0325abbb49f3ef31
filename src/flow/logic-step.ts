/** Logic steps run plain code, call no model and can answer the user directly. */
import { type Awaitable, BaseStep } from './base-step.js'
import type { Transition } from './transition.js'
import type { Turn } from './turn.js'

/**
 * A step that runs flow code instead of a model.
 *
 * @typeParam State - The shape of `state`: plain JSON. Default: no properties.
 * @example
 * ```ts
 * class AskAge extends LogicStep<{ age?: number }> {
 *   static override readonly id = 'AskAge'
 *   override run(turn: Turn) {
 *     if (turn.entered) return reply('How old are you?')
 *     const age = Number(turn.message)
 *     if (!Number.isInteger(age)) return reply('A whole number, please.')
 *     this.state.age = age
 *     return finish('Thank you.')
 *   }
 * }
 * ```
 */
export abstract class LogicStep<State extends object = object> extends BaseStep<State> {
  /**
   * The memory namespace that what is said in this step is added to, for a model that continues later. Default: none.
   */
  declare readonly memory?: string | undefined

  /** Handles the user's message. Must return a transition. */
  abstract run(turn: Turn): Awaitable<Transition>
}
