/** Random users, faults and schedules against a flow. */
export type { Actor, ActorView } from './plan.js'
export type { SimulateOptions, SimulationResult } from './simulate.js'
export { simulate } from './simulate.js'
export type { Invariant, SimulatedTurn } from './simulated-turn.js'
