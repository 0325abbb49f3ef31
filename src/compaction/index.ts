/**
 * How the memories of models are kept short: a window of the last turns, or a
 * summary that a model keeps up to date.
 *
 * @module turnkeeper/compaction
 */

// Keep this list by hand.

export type { RollingSummary, SlidingWindow } from '../flow/compaction.js'
export { rollingSummary, slidingWindow } from './policies.js'
