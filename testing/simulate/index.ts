/** Random users, faults and schedules against a flow. */
export type { Actor } from './plan.js'
export { simulate } from './simulate.js'
export type { SimulateOptions, SimulationResult } from './simulate-options.js'
export type { Invariant } from './simulated-turn.js'
