/**
 * Lists the modifiers that each kind of transition accepts. A modifier that could never have an effect throws when it
 * is called. A modifier that has no effect only in some hooks is allowed, because one function may return the same
 * transition to all of them.
 */
import { flowCodeError } from '../errors/engine-errors.js'

/** The kind of a transition. */
export type TransitionKind = 'go' | 'call' | 'back' | 'reply' | 'stay' | 'retry' | 'finish'

/** A modifier that only some builders take. */
type Modifier = 'withReply' | 'withContentType' | 'withState' | 'withPrompt' | 'withMessage' | 'withLead' | 'withParts'

const builders: Readonly<Record<Modifier, { readonly of: readonly TransitionKind[]; readonly instead: string }>> = {
  withReply: { of: ['go', 'call', 'back', 'reply', 'finish'], instead: 'Return reply(text) to answer the user.' },
  withContentType: {
    of: ['go', 'call', 'back', 'reply', 'stay', 'finish'],
    instead: 'Return reply(text).withContentType(type) to answer the user.',
  },
  withState: {
    of: ['go', 'call', 'finish'],
    instead: 'Set this.state to change the state of this step, or return go(Step).withState(state).',
  },
  withPrompt: { of: ['go', 'call'], instead: 'Return go(Step).withPrompt(text) to add to the prompt of a model step.' },
  withMessage: {
    of: ['go', 'call', 'back', 'finish'],
    instead: 'Return go(Step).withMessage(text) to give another step a message.',
  },
  withLead: {
    of: ['go', 'call', 'back'],
    instead: 'Put the text into the reply.',
  },
  withParts: {
    of: ['go', 'call', 'back', 'reply', 'stay', 'finish'],
    instead: 'Return reply(text).withParts([...]).',
  },
}

/** Throws if this kind of transition does not accept the modifier. */
export function refuseModifier(kind: TransitionKind, modifier: Modifier): void {
  const { of, instead } = builders[modifier]
  if (of.includes(kind)) return
  throw flowCodeError(`${kind}(...) does not take ${modifier}. ${instead}`)
}
