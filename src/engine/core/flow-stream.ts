/** The pieces of a streamed turn. Types only: `turn-stream.ts` makes the stream. */
import type { AnyFlowError } from '../../errors/flow-error.js'
import type { ExecuteResult, RunResponseType } from './engine-options.js'

/**
 * Why a new session answers and not the one that was asked for, as in `ExecuteResult`.
 *
 * @inline
 */
type Restarted = NonNullable<ExecuteResult['restarted']>

/**
 * A piece of a turn. All text is provisional until `result`: the texts since the last `reset`, joined, are then the
 * message of the result, or there are none. The last piece is `result` or `error`. `replayed`, as in `ExecuteResult`:
 * the piece is of an earlier call with the same idempotency key.
 */
export type FlowStreamEvent =
  /**
   * The session is open: the first piece, unless the turn failed before. A new session is stored at the turn's end. It
   * comes a second time where the call followed an earlier one that was then cancelled, so that the turn runs anew.
   */
  | { readonly type: 'session'; readonly session: string; readonly replayed?: true; readonly restarted?: Restarted }
  /** A step was entered. */
  | { readonly type: 'step'; readonly step: string }
  /** The reply goes on with this text. */
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'tool-start'; readonly tool: string; readonly toolCallId: string }
  | { readonly type: 'tool-end'; readonly tool: string; readonly toolCallId: string; readonly success: boolean }
  /**
   * Forget the text so far: the call is repeated, with the same model or with the next one; the model called tools or
   * answers again; the step moved on; the reply is another text; the turn failed and the flow answers for it; or the
   * reader has come back (`resume`): the text so far comes again.
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
 * The pieces of one turn, to be read once. The turn begins when the first one is asked for. What a reader that is slow,
 * or leaves the loop early, means to the turn is the option `onDisconnect` of `engine.stream`.
 */
export interface FlowStream extends AsyncIterator<FlowStreamEvent, undefined, void> {
  /** For `for await`. Written out, because `AsyncIterableIterator` has one parameter before TypeScript 5.6. */
  [Symbol.asyncIterator](): AsyncIterator<FlowStreamEvent, undefined, void>
  /**
   * The ID of the piece that `next()` returned last, `<turnId>:<n>`: the option `lastEventId` of a call with the same
   * idempotency key. Empty before the first piece, and where the turn never began.
   */
  readonly lastEventId: string
  /** The next piece; the first call begins the turn. Never rejects. */
  next(): Promise<IteratorResult<FlowStreamEvent, undefined>>
  /**
   * Stops reading. Under `onDisconnect: 'cancel'` it aborts the turn, unless its commit has begun, and resolves when
   * the turn is settled; under `'finish'`, and where the turn is that of an earlier call, it resolves at
   * once and the turn goes on.
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
   * The ID of the last piece that the reader has from an earlier call with the same idempotency key. Where it shows
   * that nothing was missed, the text so far is not sent again. Without a key it is ignored. Default: none.
   */
  readonly lastEventId?: string
  /**
   * What becomes of the turn when its reader leaves early. `'cancel'`: it is aborted; it also waits for a slow reader,
   * up to its deadline. `'finish'`: it goes on, and never waits for its reader. Default `'finish'` where the input has
   * an `idempotencyKey`, with which the reader can come back, else `'cancel'`.
   */
  readonly onDisconnect?: 'cancel' | 'finish'
}

/** Why the text so far does not count. */
export type StreamResetReason = Extract<FlowStreamEvent, { type: 'reset' }>['reason']
