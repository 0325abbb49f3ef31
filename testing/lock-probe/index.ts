/** Gates and assertions for the session locks of an engine. */
export type { LockGate, LockProbeOptions } from './lock-probe.js'
export { LockProbe } from './lock-probe.js'
