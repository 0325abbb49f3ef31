/** Gates and assertions for the session locks of an engine. */
export type { LockGate } from './lock-probe.js'
export { LockProbe } from './lock-probe.js'
