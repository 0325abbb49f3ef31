// Each policy of `busy` does what a model of a few lines does, whatever happens in which order.
// BUSY_RUNS  how many schedules. Default: 1 000. BUSY_SEED  begins with this seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { outcomeOfEngine } from './busy-engine.js'
import { outcomeOfModel } from './busy-model.js'
import { type Schedule, schedules, untilTheEnd } from './schedule.js'

const numRuns = Number(process.env.BUSY_RUNS ?? 1_000)
const seed = Number(process.env.BUSY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const toRepeat = `to repeat it: BUSY_SEED=${seed} BUSY_RUNS=${numRuns}`

/** Every outcome of a message or of a cancellation. Some need thousands of schedules. */
const outcomes = [
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
]

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
    { numRuns, seed },
  )
  const counts = [...codes].map(([code, count]) => `${code} ${count}`).join(', ')
  console.log(`busy: ${numRuns} schedules: ${counts} (${toRepeat})`)
  // Few schedules are left out.
  expect(undecided, toRepeat).toBeLessThan(numRuns / 20)
  // No message is left without an outcome, and enough schedules reach every one.
  expect(
    [...codes.keys()].filter((code) => !outcomes.includes(code)),
    toRepeat,
  ).toEqual([])
  if (numRuns >= 10_000) expect([...codes.keys()].sort(), toRepeat).toEqual(outcomes)
})
