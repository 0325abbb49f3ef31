/** A clock that a test moves. */
export type { RunUntilOptions } from './virtual-clock.js'
export { VirtualClock } from './virtual-clock.js'
