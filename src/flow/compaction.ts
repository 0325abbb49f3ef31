/**
 * What a flow says of the length of its memory: policies by namespace, and who sees to them. The policies bring that along
 * (`turnkeeper/compaction`), so that an application without any is not made heavier by it.
 */
import { FlowRegistrationError, registrationError } from '../errors/engine-errors.js'
import type { ModelChoice } from '../model/model-provider.js'
import { isPlainObject } from '../util/json.js'

/** When a memory is cut down, and how far. */
export interface CompactionBounds {
  /** Messages beyond which the memory is cut down, after a turn that passed it. A whole number above `keep`. */
  readonly above: number
  /**
   * The newest messages, which stay: at least so many, and as many more as it takes to begin with what the user said at
   * the beginning of a turn. A whole number above 0. The further below `above`, the rarer it happens.
   */
  readonly keep: number
}

/** What `rollingSummary` takes. */
export interface RollingSummaryOptions extends CompactionBounds {
  /** The model that writes the summary, or several: each stands in for the one before it. */
  readonly model: ModelChoice
  /** The system prompt of its call; the transcript is its one message. Default: the engine's own. */
  readonly prompt?: string
  /** Milliseconds for the call, with all its attempts; the next turn of the session waits for it. Default 30 000. `Infinity`: as long as it takes. */
  readonly timeoutMs?: number
  /** Characters (UTF-16 units) of a summary; a longer one is refused. Default 8 000. */
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

/** How the memory of a namespace is kept short. */
export type CompactionPolicy = SlidingWindow | RollingSummary

/** Policies by memory namespace. */
export type FlowCompaction = Readonly<Record<string, CompactionPolicy>>

/** Where a policy has what sees to the policies of a flow. */
export const keeperOf: unique symbol = Symbol.for('turnkeeper.keeperOf')

/** Checks the policies of a flow, all of them, and returns who sees to them. */
export type KeeperOf<Keeper> = (flowName: string, compaction: FlowCompaction) => Keeper

/**
 * Who sees to the memories of a flow; `undefined` where it has no policies.
 *
 * @throws {@link FlowRegistrationError} that names the flow, what is wrong and what was expected.
 */
export function readCompaction<Keeper>(flowName: string, compaction: unknown): Keeper | undefined {
  if (isPlainObject(compaction)) {
    const policies = Object.values(compaction)
    if (policies.length === 0) return undefined
    for (const policy of policies) {
      const make = (policy as { readonly [keeperOf]?: KeeperOf<Keeper> } | null | undefined)?.[keeperOf]
      if (make !== undefined) return make(flowName, compaction as FlowCompaction)
    }
  }
  throw registrationError(
    `Flow '${flowName}': compaction must be { namespace: slidingWindow({ ... }) or rollingSummary({ ... }) }.`,
  )
}
