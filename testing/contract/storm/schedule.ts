/** When which fault happens in a storm: all of it follows from the seed. Doing the faults is left to others. */
import { SeededRandom } from '../seeded-random.js'

/** One fault. Times are in milliseconds, `at` from the storm's beginning. */
export type Fault =
  | { readonly kind: 'kill-worker'; readonly at: number; readonly worker: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'pause-server'; readonly at: number; readonly forMs: number; readonly cutsInBetween: boolean }
  | { readonly kind: 'kill-server'; readonly at: number; readonly downMs: number }

/** How often, in a second. Pauses and kills of the server take turns. */
export interface FaultRates {
  readonly workerKills: number
  readonly cuts: number
  readonly serverFaults: number
}

const stormRates: FaultRates = { workerKills: 1.2, cuts: 6, serverFaults: 0.5 }

/** Longer than a store operation may take: some pauses end operations, most do not. */
const longestPauseMs = 2_500
const longestDownMs = 600

/** The faults of `seconds`, in the order of their times; at least one of each kind. */
export function stormSchedule(
  seed: number,
  seconds: number,
  workers: number,
  rates: FaultRates = stormRates,
): readonly Fault[] {
  const random = new SeededRandom(seed)
  const cuts = spread(random, seconds, rates.cuts).map((at): Fault => ({ kind: 'cut', at }))
  const workerKills = spread(random, seconds, rates.workerKills).map(
    (at): Fault => ({ kind: 'kill-worker', at, worker: random.below(workers) }),
  )
  const serverFaults = spread(random, seconds, rates.serverFaults).map((at, index): Fault => {
    if (index % 2 === 0) return { kind: 'kill-server', at, downMs: random.between(0, longestDownMs) }
    // Most pauses are short.
    const forMs = random.between(20, longestPauseMs) * random.next()
    return { kind: 'pause-server', at, forMs, cutsInBetween: random.chance(0.5) }
  })
  return [...cuts, ...workerKills, ...serverFaults].sort((one, other) => one.at - other.at)
}

/**
 * Random times, spread so that there are quiet and busy moments, but no long period with all of them or without any.
 */
function spread(random: SeededRandom, seconds: number, rate: number): number[] {
  const count = Math.max(2, Math.ceil(rate * seconds))
  return Array.from({ length: count }, (_, index) => ((index + random.next()) / count) * seconds * 1_000)
}
