/**
 * The types of compaction policies, and the code that turns a flow's policies into a compactor. Each policy carries its
 * compactor factory under a symbol, so that only applications that import `turnkeeper/compaction` load the code in
 * `src/compaction`.
 */
import { FlowRegistrationError, registrationError } from '../errors/engine-errors.js'
import type { ModelChoice } from '../model/model-provider.js'
import { isPlainObject } from '../util/json.js'

/**
 * When a memory is shortened, and to what length.
 *
 * @inline
 */
export type CompactionBounds = {
  /** The memory is shortened after a turn that leaves more messages than this. A whole number above `keep`. */
  readonly above: number
  /**
   * The minimum number of newest messages to keep. More stay if needed, so that the memory begins with the user message
   * that starts a turn. A whole number above 0. The further it is below `above`, the less often the memory is
   * shortened.
   */
  readonly keep: number
}

/**
 * The options of `rollingSummary`.
 *
 * @inline
 */
export type RollingSummaryOptions = CompactionBounds & {
  /** The model that writes the summary, or a list: the first one, then its fallbacks in order. */
  readonly model: ModelChoice
  /** The system prompt of the call; its only message is the transcript. Default: a built-in prompt. */
  readonly prompt?: string
  /**
   * Milliseconds for the call with all its attempts. The session's next turn does not wait for it. Default 30 000.
   * `Infinity`: no limit.
   */
  readonly timeoutMs?: number
  /** The maximum length of a summary in characters (UTF-16 units); a longer one is rejected. Default 8 000. */
  readonly maxSummaryCharacters?: number
}

/** A policy made by `slidingWindow`. */
export interface SlidingWindow extends CompactionBounds {
  readonly kind: 'window'
}

/** A policy made by `rollingSummary`. */
export interface RollingSummary extends RollingSummaryOptions {
  readonly kind: 'summary'
}

/** How the memory of one namespace is kept short. */
export type CompactionPolicy = SlidingWindow | RollingSummary

/** Policies by memory namespace. */
export type FlowCompaction = Readonly<Record<string, CompactionPolicy>>

/** The property of a policy that holds its {@link CompactorFactory}. */
export const compactorFactory: unique symbol = Symbol.for('turnkeeper.compactorFactory')

/** Validates a flow's policies and returns its compactor: see `src/engine/turn/compactor.ts`. */
export type CompactorFactory = (flowName: string, compaction: FlowCompaction) => unknown

/**
 * Creates the compactor of a flow with the factory of its first policy. Returns `undefined` if
 * the flow has no policies.
 *
 * @throws {@link FlowRegistrationError} that names the flow, the problem and the expected value.
 */
export function createCompactor(flowName: string, compaction: unknown): unknown {
  if (isPlainObject(compaction)) {
    const policies = Object.values(compaction)
    if (policies.length === 0) return undefined
    for (const policy of policies) {
      const factory = (policy as PolicyWithFactory | null | undefined)?.[compactorFactory]
      if (factory !== undefined) return factory(flowName, compaction as FlowCompaction)
    }
  }
  throw registrationError(
    `Flow '${flowName}': compaction must be { namespace: slidingWindow({ ... }) or rollingSummary({ ... }) }.`,
  )
}

interface PolicyWithFactory {
  readonly [compactorFactory]?: CompactorFactory
}
