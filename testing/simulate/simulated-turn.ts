/** What a simulated conversation is given, and what happened in it. */
import type {
  ExecuteResult,
  FlowErrorCode,
  FlowRunInput,
  FlowServices,
  JsonValue,
  SessionDocument,
  StateOf,
  StepConstructor,
} from '../../src/index.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import type { ToolDouble } from '../tool-doubles/tool-doubles.js'
import type { PlannedFault } from './plan.js'

/** What an author may say about the surroundings of a simulated conversation. */
export interface SimulationSurroundings
  extends Pick<ConversationOptions, 'limits' | 'onTurnError' | 'config' | 'owner'> {
  /** Makes the `services` of one conversation. Default: none. */
  readonly services?: (() => FlowServices) | undefined
  /**
   * Doubles for tools, by name: a value or a function for every call. A list of results would be used up. Default: the
   * tools run themselves.
   */
  readonly tools?: Readonly<Record<string, Exclude<ToolDouble, readonly unknown[]>>>
}

/** One turn of a simulated conversation. @inline */
export interface SimulatedTurn {
  /** The message; empty if the turn took an event. */
  readonly said: string
  /** The name of the event; absent if there was none. */
  readonly event?: string
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
 * @param stateOf - Returns the stored state of a step, by its class; what its `initialState()` returns if none is
 * stored.
 */
export type Invariant = (
  document: SessionDocument,
  transcript: readonly SimulatedTurn[],
  stateOf: <Target extends StepConstructor>(step: Target) => Readonly<StateOf<Target>>,
) => unknown

/** What happened, for the test code that repeats it. */
export type PlayedAction =
  | {
      readonly kind: 'say'
      readonly said: string
      /** The button that was pressed; `undefined` if the message was written. */
      readonly choice: FlowRunInput['choice']
      readonly faults: readonly PlannedFault[]
      readonly code: FlowErrorCode | undefined
    }
  | {
      readonly kind: 'event'
      readonly name: string
      readonly payload: JsonValue | undefined
      readonly faults: readonly PlannedFault[]
      readonly code: FlowErrorCode | undefined
    }
  /** `code`: of the last turn that the clock began. */
  | { readonly kind: 'time'; readonly ms: number; readonly code: FlowErrorCode | undefined }
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
  more: Pick<SimulatedTurn, 'turnId' | 'event' | 'disturbed' | 'together'>,
): SimulatedTurn {
  const { success, completed, message, session } = response
  return { said, to, success, completed, reply: message, session, ...(error ? { code: error.code } : {}), ...more }
}
