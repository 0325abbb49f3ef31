/** A stored session as a test: record it, and run it again on the current code. */
export type { Recording, RecordingOptions, ReplayOptions } from './recording.js'
export { recordingOf, replay } from './recording.js'
export { type ReplayAllOptions, type ReplaySummary, replayAll } from './replay-all.js'
