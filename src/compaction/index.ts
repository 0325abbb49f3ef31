/**
 * The public subpath `turnkeeper/compaction`: a hand-kept list of names, and nothing else. The types of policies are the root's.
 */
export { rollingSummary, slidingWindow } from './policies.js'
