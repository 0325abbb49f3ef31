/** What happened in a simulated conversation. Types only. */
import type { ExecuteResult, FlowErrorCode, SessionDocument } from '../../src/index.js'
import type { PlannedFault } from './plan.js'

/** One turn of a simulated conversation. @inline */
export interface SimulatedTurn {
  readonly said: string
  /** The ID of the turn, as in the history of the session. */
  readonly turnId: string
  /** The session to which the message was sent; `''` for a new one. */
  readonly to: string
  readonly success: boolean
  readonly completed: boolean
  readonly reply: string
  /** The session that answered; `''` if there is none. */
  readonly session: string
  /** Why it failed; absent on success. */
  readonly code?: FlowErrorCode
  /** Whether the store had a fault meanwhile. */
  readonly disturbed: boolean
  /** Whether another turn ran at the same time. */
  readonly together: boolean
}

/**
 * What must hold after each turn: throws, or returns `false`, if it does not.
 *
 * @param document - The session that answered last, as it is stored.
 * @param transcript - Every turn so far, in the order in which they were answered.
 */
export type Invariant = (document: SessionDocument, transcript: readonly SimulatedTurn[]) => unknown

/** What happened, for the test code that repeats it. */
export type PlayedAction =
  | {
      readonly kind: 'say'
      readonly said: string
      readonly faults: readonly PlannedFault[]
      readonly code: FlowErrorCode | undefined
    }
  | { readonly kind: 'restart' }
  | {
      readonly kind: 'together'
      readonly said: readonly string[]
      readonly elsewhere: boolean
      readonly delays: readonly number[]
    }

/** A turn, from the engine's answer. */
export function turnOf(
  said: string,
  to: string,
  { response, error }: ExecuteResult,
  more: Pick<SimulatedTurn, 'turnId' | 'disturbed' | 'together'>,
): SimulatedTurn {
  const { success, completed, message, session } = response
  return { said, to, success, completed, reply: message, session, ...(error ? { code: error.code } : {}), ...more }
}
