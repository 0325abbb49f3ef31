/** The pieces of a streamed turn. Types only: `turn-stream.ts` makes the stream. */
import type { FlowError } from '../../errors/flow-error.js'
import type { ExecuteResult, RunResponseType } from '../engine-options.js'

/**
 * Why a new session answers and not the one that was asked for, as in `ExecuteResult`.
 *
 * @inline
 */
type Restarted = NonNullable<ExecuteResult['restarted']>

/**
 * A piece of a turn. All text is provisional until `result`: the texts since the last `reset`, joined, are then the
 * message of the result, or there are none. The last piece is `result` or `error`.
 */
export type FlowStreamEvent =
  /** The session is open: the first piece, unless the turn failed before. A new session is stored at the turn's end. */
  | { readonly type: 'session'; readonly session: string; readonly restarted?: Restarted }
  /** A step was entered. */
  | { readonly type: 'step'; readonly step: string }
  /** The reply goes on with this text. */
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-start'; readonly tool: string; readonly toolCallId: string }
  | { readonly type: 'tool-end'; readonly tool: string; readonly toolCallId: string; readonly success: boolean }
  /**
   * Forget the text so far: the call is repeated, with the same model or with the next one; the model called tools or answers
   * again; the step moved on; the reply is another text; or the turn failed and the flow answers for it.
   */
  | { readonly type: 'reset'; readonly reason: 'retry' | 'fallback' | 'tools' | 'repair' | 'step' | 'reply' | 'error' }
  /** The turn is committed. */
  | {
      readonly type: 'result'
      readonly response: RunResponseType
      readonly sessionState: ExecuteResult['sessionState']
      readonly encoding?: 'base64'
      readonly restarted?: Restarted
    }
  /** The turn failed. `response` is the failure envelope. */
  | {
      readonly type: 'error'
      readonly response: RunResponseType
      readonly sessionState: ExecuteResult['sessionState']
      readonly error: FlowError
      readonly restarted?: Restarted
    }

/**
 * The pieces of one turn, to be read once. The turn begins when the first one is asked for, and waits for a slow reader.
 * Leaving the loop early aborts the turn, and resolves when the session's lock is free again.
 */
export interface FlowStream extends AsyncIterableIterator<FlowStreamEvent, undefined, void> {
  /** The next piece; the first call begins the turn. Never rejects. */
  next(): Promise<IteratorResult<FlowStreamEvent, undefined>>
  /** Stops reading: aborts the turn, unless its commit has begun. Resolves when the turn is settled. */
  return(): Promise<IteratorResult<FlowStreamEvent, undefined>>
}

/** Why the text so far does not count. */
export type StreamResetReason = Extract<FlowStreamEvent, { type: 'reset' }>['reason']
