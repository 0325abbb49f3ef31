// Each policy of `busy` does what a model of a few lines does, whatever happens in which order.
// BUSY_RUNS  how many schedules. Default: 10 000 in CI, 1 000 elsewhere. BUSY_SEED  begins with this seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { outcomeOfEngine } from './busy-engine.js'
import { outcomeOfModel } from './busy-model.js'
import { type Schedule, schedules, untilTheEnd } from './schedule.js'

const numRuns = Number(process.env.BUSY_RUNS ?? (process.env.CI === 'true' ? 10_000 : 1_000))
const seed = process.env.BUSY_SEED === undefined ? {} : { seed: Number(process.env.BUSY_SEED) }

test(`the engine and the model agree on ${numRuns} schedules`, { timeout: 300_000 }, async () => {
  const codes = new Map<string, number>()
  let undecided = 0
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule: Schedule) => {
      const expected = outcomeOfModel(schedule, untilTheEnd)
      if (expected === undefined) {
        undecided++
        return
      }
      expect(await outcomeOfEngine(schedule, untilTheEnd)).toEqual(expected)
      for (const outcome of [...expected.turns, ...expected.cancelled.map(String)]) {
        const [kind = 'none'] = (outcome ?? 'none').split(':')
        codes.set(kind, (codes.get(kind) ?? 0) + 1)
      }
    }),
    { numRuns, ...seed },
  )
  console.log(`busy: ${numRuns} schedules: ${[...codes].map(([code, count]) => `${code} ${count}`).join(', ')}`)
  // Few schedules are left out.
  expect(undecided).toBeLessThan(numRuns / 20)
  // The schedules reach every outcome, and none is left without one.
  expect([...codes.keys()].sort()).toEqual([
    'FLOW_ERROR',
    'LIMIT_EXCEEDED',
    'SESSION_BUSY',
    'SESSION_FLOW_MISMATCH',
    'TURN_ABORTED',
    'TURN_SUPERSEDED',
    'again FLOW_ERROR',
    'again LIMIT_EXCEEDED',
    'again SESSION_BUSY',
    'again SESSION_FLOW_MISMATCH',
    'again TURN_ABORTED',
    'again TURN_SUPERSEDED',
    'again ok',
    'false',
    'ok',
    'true',
  ])
})
