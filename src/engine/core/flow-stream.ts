/** The pieces of a streamed turn. Types only: `turn-stream.ts` makes the stream. */
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { ReplyPart } from '../../model/reply-part.js'
import type { ExecuteResult, RunResponseType } from './engine-options.js'

/**
 * Why a new session was started, as in `ExecuteResult`.
 *
 * @inline
 */
type Restarted = NonNullable<ExecuteResult['restarted']>

/**
 * A piece of a turn. All text is provisional until `result`: then the joined texts since the last `reset` are the
 * message of the result, or there are none. The last piece is `result` or `error`. `replayed`, as in `ExecuteResult`:
 * the piece belongs to an earlier call with the same idempotency key.
 */
export type FlowStreamEvent =
  /**
   * The session is open: the first piece, unless the turn failed before. A new session is stored at the end of the
   * turn. The piece comes twice if the call followed an earlier one that was then cancelled, so that this turn runs
   * after all.
   */
  | { readonly type: 'session'; readonly session: string; readonly replayed?: true; readonly restarted?: Restarted }
  /** A step was entered. */
  | { readonly type: 'step'; readonly step: string }
  /** The next text of the reply. */
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-start'; readonly tool: string; readonly toolCallId: string }
  | { readonly type: 'tool-end'; readonly tool: string; readonly toolCallId: string; readonly success: boolean }
  /**
   * Discard the text so far: the call is retried with the same or the next model; the model called tools or answers
   * again; the step moved on; the reply is another text; the turn failed and the flow answers for it; or the reader has
   * reconnected (`resume`) and the text so far is sent again.
   */
  | {
      readonly type: 'reset'
      readonly reason: 'retry' | 'fallback' | 'tools' | 'repair' | 'step' | 'reply' | 'error' | 'resume'
    }
  /** The turn is committed. */
  | {
      readonly type: 'result'
      readonly response: RunResponseType
      readonly sessionState: ExecuteResult['sessionState']
      readonly encoding?: 'base64'
      /** As in `ExecuteResult`. */
      readonly parts?: readonly ReplyPart[]
      readonly turn?: number
      readonly replayed?: true
      readonly restarted?: Restarted
    }
  /** The turn failed. `response` is the failure envelope. */
  | {
      readonly type: 'error'
      readonly response: RunResponseType
      readonly sessionState: ExecuteResult['sessionState']
      readonly error: AnyFlowError
      readonly replayed?: true
      readonly restarted?: Restarted
    }

/**
 * The pieces of one turn, which can be read once. The turn begins when the first piece is requested. The option
 * `onDisconnect` of `engine.stream` decides what happens to the turn if its reader is slow or leaves early.
 */
export interface FlowStream extends AsyncIterator<FlowStreamEvent, undefined, void> {
  /** For `for await`. Written out, because `AsyncIterableIterator` has one parameter before TypeScript 5.6. */
  [Symbol.asyncIterator](): AsyncIterator<FlowStreamEvent, undefined, void>
  /**
   * The ID of the last piece returned by `next()`, `<turnId>:<n>`. Pass it as `lastEventId` in a call with the same
   * idempotency key. Empty before the first piece, and if the turn never began.
   */
  readonly lastEventId: string
  /** The next piece; the first call begins the turn. Never rejects. */
  next(): Promise<IteratorResult<FlowStreamEvent, undefined>>
  /**
   * Stops reading. With `onDisconnect: 'cancel'` it aborts the turn, unless its commit has begun, and resolves when the
   * turn has settled. With `'finish'`, and if the turn belongs to an earlier call, it resolves at once and the turn
   * goes on.
   */
  return(): Promise<IteratorResult<FlowStreamEvent, undefined>>
}

/**
 * The options of `stream`.
 *
 * @inline
 */
export type StreamOptions = {
  /**
   * The ID of the last piece that the reader received from an earlier call with the same idempotency key. If the reader
   * missed nothing, the text so far is not sent again. Ignored without a key. Default: none.
   */
  readonly lastEventId?: string
  /**
   * What happens to the turn if its reader leaves early. `'cancel'`: it is aborted; it also waits for a slow reader, up
   * to its deadline. `'finish'`: it goes on, and never waits for its reader. Default: `'finish'` if the input has an
   * `idempotencyKey`, with which the reader can reconnect, otherwise `'cancel'`.
   */
  readonly onDisconnect?: 'cancel' | 'finish'
}

/** The reasons for discarding the text so far. */
export type StreamResetReason = Extract<FlowStreamEvent, { type: 'reset' }>['reason']
