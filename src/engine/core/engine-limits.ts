/** The limits of an engine: their defaults, and the check of what the application passed. */

import { LimitExceededError } from '../../errors/engine-errors.js'
import { operationsAfterDeadline } from '../../session/store-access.js'
import type { JsonError } from '../../util/json.js'
import { numbersWithDefaults } from '../../util/options.js'

/** Limits of an engine. Each is a number above 0; `Infinity` switches a limit off. */
export interface EngineLimits {
  /** Calls of a model in one turn. Default 16. */
  readonly maxModelCallsPerTurn: number
  /** Tool calls of models in one turn. If an answer exceeds the limit, none of its calls run. Default 64. */
  readonly maxToolCallsPerTurn: number
  /**
   * Bytes of the result of one tool call. The model gets a message instead of a larger result. Default 262 144 (256
   * KiB).
   */
  readonly maxToolResultBytes: number
  /** Moves (`go`) in one turn. Default 32. */
  readonly maxTransitionsPerTurn: number
  /** Milliseconds for one turn. Its wait behind earlier turns may take as long again. Default 120 000. */
  readonly turnTimeoutMs: number
  /** Milliseconds for one attempt at a model call; for a streamed call, between two pieces. Default 60 000. */
  readonly modelTimeoutMs: number
  /** Milliseconds for one tool call. Default 30 000. */
  readonly toolTimeoutMs: number
  /** Turns of the engine that run or wait at the same time. Default 10 000. */
  readonly maxConcurrentTurns: number
  /**
   * The same, of one owner. Default: a tenth of `maxConcurrentTurns`, at least 20, but at most half of it: 1 000. Turns
   * without an owner are not counted.
   */
  readonly maxConcurrentTurnsPerOwner: number
  /** Turns that may wait for one session. Default 32. */
  readonly maxQueuedTurnsPerSession: number
  /** Bytes of a user message in UTF-8. Default 262 144 (256 KiB). */
  readonly maxMessageBytes: number
  /** Bytes of a turn's attachments as JSON, together. Default 1 048 576 (1 MiB). */
  readonly maxAttachmentBytes: number
  /** Bytes of a `config` as JSON. Default 65 536 (64 KiB). */
  readonly maxConfigBytes: number
  /** Levels of nesting in anything stored; the outermost object counts as 1. Default 64. */
  readonly maxJsonDepth: number
  /** Turns kept in a session's history; beyond it the oldest are removed. Default 500. */
  readonly maxHistoryTurns: number
  /** Bytes of a session's history as JSON; beyond it the oldest turns are removed. Default 1 048 576 (1 MiB). */
  readonly maxHistoryBytes: number
  /**
   * Bytes of the messages of one memory as JSON; beyond it the oldest messages are removed. Default 262 144 (256 KiB).
   */
  readonly maxMemoryBytes: number
  /** For how many of the last turns the bytes of images and files are kept. Default 2. */
  readonly attachmentTurns: number
  /**
   * Bytes of a whole session as JSON. Beyond it the oldest turns, messages and attachments are removed; a turn is
   * refused if that is not enough. Default 4 194 304 (4 MiB).
   */
  readonly maxSessionBytes: number
  /**
   * How many receipts of idempotency keys a session keeps, newest turns first. The receipt of its first turn always
   * stays. Default 16.
   */
  readonly maxReceipts: number
  /** Names under which `turn.once` keeps results in a session. Default 64. */
  readonly maxEffects: number
  /** Bytes of one result that `turn.once` keeps, as JSON. Default 4 096. */
  readonly maxEffectBytes: number
  /** Milliseconds for one operation of the store; a commit gets three times as long. Default 5 000. */
  readonly storeTimeoutMs: number
  /** Milliseconds that `close()` waits for turns under way before it aborts them. Default 10 000. */
  readonly closeTimeoutMs: number
}

const defaults: EngineLimits = {
  maxModelCallsPerTurn: 16,
  maxToolCallsPerTurn: 64,
  maxToolResultBytes: 256 * 1024,
  maxTransitionsPerTurn: 32,
  turnTimeoutMs: 120_000,
  modelTimeoutMs: 60_000,
  toolTimeoutMs: 30_000,
  maxConcurrentTurns: 10_000,
  maxConcurrentTurnsPerOwner: 1_000,
  maxQueuedTurnsPerSession: 32,
  maxMessageBytes: 256 * 1024,
  maxAttachmentBytes: 1024 * 1024,
  maxConfigBytes: 64 * 1024,
  maxJsonDepth: 64,
  maxHistoryTurns: 500,
  maxHistoryBytes: 1024 * 1024,
  maxMemoryBytes: 256 * 1024,
  attachmentTurns: 2,
  maxSessionBytes: 4 * 1024 * 1024,
  maxReceipts: 16,
  maxEffects: 64,
  maxEffectBytes: 4_096,
  storeTimeoutMs: 5_000,
  closeTimeoutMs: 10_000,
}

/**
 * Fills in the defaults.
 *
 * @throws `InvalidInputError` for an unknown limit, and for a value that is not a number above 0.
 */
export function resolveLimits(limits?: Partial<EngineLimits>): EngineLimits {
  const resolved = numbersWithDefaults('FlowEngine', limits, defaults, { path: 'limits' })
  if (limits?.maxConcurrentTurns === undefined || limits.maxConcurrentTurnsPerOwner !== undefined) return resolved
  const { maxConcurrentTurns: all } = resolved
  const maxConcurrentTurnsPerOwner = Math.max(1, Math.floor(Math.min(Math.max(20, all / 10), all / 2)))
  return Object.freeze({ ...resolved, maxConcurrentTurnsPerOwner })
}

/**
 * The longest duration of a turn: its wait until it may take the lock, then the turn itself, each with the store
 * operations after its deadline.
 */
export function longestTurnMs({ turnTimeoutMs, storeTimeoutMs }: EngineLimits): number {
  return 2 * (turnTimeoutMs + operationsAfterDeadline * storeTimeoutMs)
}

/** The error for an exceeded limit. `problem` begins its message and names what exceeded it. */
export function limitExceeded(limits: EngineLimits, limit: keyof EngineLimits, problem: string): LimitExceededError {
  return new LimitExceededError({ limit, value: limits[limit], problem })
}

/**
 * The error for JSON that exceeds `maxJsonDepth`; `undefined` if it has another problem.
 *
 * @param owner - Words after the path that name the owner of the value. Default: none, the path is enough.
 */
export function depthExceeded(
  limits: EngineLimits,
  { isTooDeep, path }: JsonError,
  owner = '',
): LimitExceededError | undefined {
  return isTooDeep ? limitExceeded(limits, 'maxJsonDepth', `The nesting of ${path}${owner}`) : undefined
}
