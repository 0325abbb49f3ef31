// Whatever is sent again, at whatever moment and to which of two processes: no message is in a history twice, each that
// was answered is there once, and all replies to one key are equal.
// REPEAT_RUNS  how many schedules. Default: 1 000. REPEAT_SEED  begins with this seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { playRepeats } from './repeats-engine.js'
import { type RepeatSchedule, repeatSchedules } from './repeats-schedule.js'

const numRuns = Number(process.env.REPEAT_RUNS ?? 1_000)
const seed = Number(process.env.REPEAT_SEED ?? Math.floor(Math.random() * 2 ** 31))
const toRepeat = `to repeat it: REPEAT_SEED=${seed} REPEAT_RUNS=${numRuns}`

test(`no message runs twice for its client in ${numRuns} schedules of repeats`, { timeout: 300_000 }, async () => {
  const count = { answers: 0, replayed: 0, failures: 0 }
  await fc.assert(
    fc.asyncProperty(repeatSchedules, async (schedule: RepeatSchedule) => {
      const { results, histories, pending } = await playRepeats(schedule)
      expect(pending).toBe(0)
      const stored = histories.flat()
      expect(stored, 'a message is stored twice').toEqual([...new Set(stored)])
      const replies = new Map<string, string>()
      for (const { text, response, error, replayed } of results) {
        if (error === undefined) {
          const reply = JSON.stringify(response)
          expect(replies.get(text) ?? reply, `two replies to ${text}`).toBe(reply)
          replies.set(text, reply)
          expect(stored, `${text} was answered and is not stored`).toContain(text)
          count.answers++
        } else count.failures++
        if (replayed === true) count.replayed++
      }
    }),
    { numRuns, seed },
  )
  console.log(`repeats: ${numRuns} schedules: ${JSON.stringify(count)} (${toRepeat})`)
  for (const [what, often] of Object.entries(count)) expect(often, `${what}, ${toRepeat}`).toBeGreaterThan(numRuns / 50)
})
