/** A clock that a test moves. */
export { VirtualClock } from './virtual-clock.js'
