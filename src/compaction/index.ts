/**
 * How the memories of models are kept short: a window of the last turns, or a
 * summary that a model keeps up to date.
 *
 * @module turnkeeper/compaction
 */

// A list of names that is kept by hand, and nothing else.

export type { RollingSummary, SlidingWindow } from '../flow/compaction.js'
export { rollingSummary, slidingWindow } from './policies.js'
