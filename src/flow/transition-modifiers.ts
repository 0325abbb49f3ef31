/**
 * Which modifiers a transition takes. A modifier that would have no effect is refused: where it is called if the builder
 * decides that, and where the transition is applied if the place that returned it does.
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

/** Where flow code returns a transition. */
export type TransitionPlace = 'run' | 'onEnter' | 'onReply' | 'onModelError' | 'onModelBlocked' | 'a tool'

/** The fields of a transition that are read here. */
interface ModifiedFields {
  readonly kind: TransitionKind
  readonly feedback?: string
  readonly contentType?: string
}

/** Throws if a modifier has no effect in the place that returned the transition. */
export function refuseInPlace(
  { fields }: { readonly fields: ModifiedFields },
  stepId: string,
  place: TransitionPlace,
): void {
  const { kind, feedback, contentType } = fields
  // The feedback of stay and retry is what their builders take.
  if (feedback !== undefined && place !== 'a tool' && kind !== 'stay' && kind !== 'retry') {
    throw flowCodeError(
      `Step '${stepId}' returned withFeedback from ${place}. Only tools may: use withReply(text) to answer the user.`,
    )
  }
  if (contentType !== undefined && kind === 'stay' && (place === 'a tool' || place === 'onReply')) {
    throw flowCodeError(
      `Step '${stepId}' returned stay(...).withContentType from ${place}, where the feedback is for the model. Return reply(text).withContentType(type) to answer the user.`,
    )
  }
}
