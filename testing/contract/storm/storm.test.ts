/**
 * Decides that no turn that was acknowledged is lost, doubled, mixed or put out of order, whatever happens to the
 * processes, the connections and Redis itself; and that a store that loses turns is detected.
 *
 * STORM_SECONDS  how long there are faults. Default: 10.
 * STORM_SEED     which faults, and when. Printed, but what the processes do in between is not repeated exactly.
 *                Default: random.
 */
import { describe, expect, test } from 'vitest'
import { isRedisMissing } from '../servers/redis-server.js'
import { runStorm } from './storm.js'
import { resultOf } from './storm-figures.js'

const seconds = Number(process.env.STORM_SECONDS ?? 10)
const seed = Number(process.env.STORM_SEED ?? Math.floor(Math.random() * 1_000_000))
/** Ends a run that hangs; no run is timed. */
const longestMs: number = seconds * 2_000 + 180_000
const shown = 20

describe.skipIf(isRedisMissing)('a storm over Redis (needs redis-server)', () => {
  test(
    'with workers killed, connections cut, Redis paused and killed: every acknowledged turn is stored once, in order, in its session',
    async () => {
      console.log(`A storm of ${seconds} s. Seed: STORM_SEED=${seed}`)
      const { verdict, wrong, figures } = resultOf(await runStorm({ seed, seconds }))
      console.log(`Storm of ${seconds} s, seed ${seed}: ${figures}`)
      expect(wrong.slice(0, shown)).toEqual([])
      // Otherwise the run shows nothing.
      expect(verdict.acknowledged).toBeGreaterThan(10 * seconds)
      expect(verdict.cut).toBeGreaterThan(seconds)
    },
    longestMs,
  )

  test(
    'detects a store where the last write wins',
    async () => {
      const broken = { seed, seconds: 1, slots: 4, store: 'redis-where-the-last-write-wins' } as const
      const { verdict, figures } = resultOf(await runStorm(broken))
      console.log(`Storm of 1 s over a store where the last write wins, seed ${seed}: ${figures}`)
      expect(verdict.violations.map(({ kind }) => kind)).toContain('lost')
    },
    longestMs,
  )
})
