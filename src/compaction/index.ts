/**
 * The entry point `turnkeeper/compaction`: the list of what it exports, kept by hand.
 */
export type { RollingSummary, SlidingWindow } from '../flow/compaction.js'
export { rollingSummary, slidingWindow } from './policies.js'
