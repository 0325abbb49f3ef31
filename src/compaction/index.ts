/**
 * The entry point `turnkeeper/compaction`: the list of what it exports, kept by hand. The types of policies are exported by the root.
 */
export { rollingSummary, slidingWindow } from './policies.js'
