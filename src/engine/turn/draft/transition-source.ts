/** Who has returned a transition. */
import type { FlowScope } from './flow-steps.js'

/** The step or the flow that has returned a transition. */
export interface TransitionSource {
  /** The step whose memory gets the reply. */
  readonly from: string
  /** The function, for error messages. */
  readonly place: string
  /** The step or flow, for error messages. Default: the step. */
  readonly owner?: string
  /** The flow, if one of its hooks or events has returned it. Then it applies to the place where the flow was called. */
  readonly scope?: FlowScope | undefined
  /** Which of the open calls it applies to. Default: the last, the current step. */
  readonly at?: number
}
