// Calls, returns, moves, events, timers and restarts over four nested flows: the engine does what the model says.
// SIDE_FLOWS_RUNS  how many. Default: 300. SIDE_FLOWS_SEED  begins with this seed.
import { expect, test } from 'vitest'
import { playAtRandom } from '../random-plays.js'
import { action } from './actions.js'
import { Play } from './play.js'

const numRuns = Number(process.env.SIDE_FLOWS_RUNS ?? 300)
const seed = Number(process.env.SIDE_FLOWS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const toRepeat = `to repeat it: SIDE_FLOWS_SEED=${seed} SIDE_FLOWS_RUNS=${numRuns}`

test(`the engine and the model agree in ${numRuns} runs`, { timeout: 300_000 }, async () => {
  const options = { numRuns, seed, maxLength: 40, toRepeat }
  const counts = await playAtRandom('side flows', action, (count) => new Play(count), options)
  const all = ['EVENT_NOT_TAKEN', 'FLOW_ERROR', 'a timer', 'ok', ...[1, 2, 3, 4, 5].map((depth) => `${depth} open`)]
  if (numRuns >= 300) for (const what of all) expect(counts.get(what), `${what}, ${toRepeat}`).toBeGreaterThan(0)
})
