/** End steps. Entering one, by any transition, ends the turn and completes the session. */
import { type Awaitable, BaseStep } from './base-step.js'
import type { ReplyContent } from './transition.js'
import type { Turn } from './turn.js'

/**
 * A step that ends the session. Its `onEnter` is called; the session's document stays in the store.
 *
 * @typeParam State - The shape of `state`: plain JSON. Default: no properties.
 */
export abstract class EndStep<State extends object = object> extends BaseStep<State> {
  /** The closing reply, if the transition to this step has none. Default: an empty text. */
  message(_turn: Turn): Awaitable<ReplyContent> {
    return ''
  }
}

/** The end step that every flow has without declaring it. Its ID, `End`, is reserved. */
export class End extends EndStep {
  static override readonly id: string = 'End'
}
