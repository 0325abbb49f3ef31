// The same promises on a runtime that drops requests: whoever waits takes the lock, and the old holder writes no more.
// The file is one of its own because Node.js slows down where it follows requests.
//
// SIMULATION_RUNS and SIMULATION_SEED are those of `simulation.test.ts`; one in fifty of the runs is played here.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planWithDrops } from './plans.js'
import { checkPromises } from './promises.js'
import { Requests } from './requests.js'
import { play } from './schedules.js'

const ofAll = Number(process.env.SIMULATION_RUNS ?? 1_000)
const runs = Math.max(50, Math.ceil(ofAll / 50))
const seed = Number(process.env.SIMULATION_SEED ?? Math.floor(Math.random() * 2 ** 31))

test('[4.8-1 4.8-3] turns whose requests are dropped lose their locks: nobody waits for ever, and they write no more', async () => {
  console.log(`${runs} simulated runs with requests that are dropped. Seed: SIMULATION_SEED=${seed}`)
  const counts = { dropped: 0, taken: 0, cameBack: 0 }
  const property = fc.asyncProperty(planWithDrops, fc.scheduler(), async (planned, scheduler) => {
    const played = await play(planned, scheduler, { requests: new Requests() })
    checkPromises(played)
    counts.dropped += played.dropped.size
    counts.taken += played.taken.size
    counts.cameBack += [...played.taken].filter((index) => played.turns.has(index)).length
  })
  await fc.assert(property, { numRuns: runs, seed })
  console.log(`Turns: ${JSON.stringify(counts)}`)
  for (const times of Object.values(counts)) expect(times).toBeGreaterThan(0)
}, 600_000)
