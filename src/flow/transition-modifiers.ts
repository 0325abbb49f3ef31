/**
 * Which modifiers a transition takes. A modifier that could never have an effect is refused where it is called. One
 * that has no effect only in some places is not: a function of the flow may return the same transition in all of them.
 */
import { flowCodeError } from '../errors/engine-errors.js'

/** What a transition does. */
export type TransitionKind = 'go' | 'reply' | 'stay' | 'retry' | 'finish'

/** A modifier that only some builders take. */
type Modifier = 'withReply' | 'withContentType' | 'withState' | 'withPrompt' | 'withMessage'

const builders: Readonly<Record<Modifier, { readonly of: readonly TransitionKind[]; readonly instead: string }>> = {
  withReply: { of: ['go', 'reply', 'finish'], instead: 'Return reply(text) to answer the user.' },
  withContentType: {
    of: ['go', 'reply', 'stay', 'finish'],
    instead: 'Return reply(text).withContentType(type) to answer the user.',
  },
  withState: {
    of: ['go', 'finish'],
    instead: 'Set this.state to change the state of this step, or return go(Step).withState(state).',
  },
  withPrompt: { of: ['go'], instead: 'Return go(Step).withPrompt(text) to add to the prompt of a model step.' },
  withMessage: { of: ['go', 'finish'], instead: 'Return go(Step).withMessage(text) to give another step a message.' },
}

/** Throws if a transition of this kind does not take the modifier. */
export function refuseModifier(kind: TransitionKind, modifier: Modifier): void {
  const { of, instead } = builders[modifier]
  if (of.includes(kind)) return
  throw flowCodeError(`${kind}(...) does not take ${modifier}. ${instead}`)
}
