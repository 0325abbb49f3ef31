// Calls, returns, moves, events, timers and restarts over four nested flows: the engine does what the model says.
// SIDE_FLOWS_RUNS  how many. Default: 300. SIDE_FLOWS_SEED  begins with this seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { action } from './actions.js'
import { Play } from './play.js'

const numRuns = Number(process.env.SIDE_FLOWS_RUNS ?? 300)
const seed = Number(process.env.SIDE_FLOWS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const toRepeat = `to repeat it: SIDE_FLOWS_SEED=${seed} SIDE_FLOWS_RUNS=${numRuns}`

test(`the engine and the model agree in ${numRuns} runs`, { timeout: 300_000 }, async () => {
  const counts = new Map<string, number>()
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const actions = fc.array(action, { minLength: 5, maxLength: 40, size: 'max' })
  await fc.assert(
    fc.asyncProperty(fc.noBias(actions), async (list) => {
      const play = new Play(count)
      for (const one of list) await play.act(one)
    }),
    { numRuns, seed },
  )
  console.log(
    `side flows: ${numRuns} runs: ${[...counts].map(([what, times]) => `${what} ${times}`).join(', ')} (${toRepeat})`,
  )
  const all = ['EVENT_NOT_TAKEN', 'FLOW_ERROR', 'a timer', 'ok', ...[1, 2, 3, 4, 5].map((depth) => `${depth} open`)]
  if (numRuns >= 300) for (const what of all) expect(counts.get(what), `${what}, ${toRepeat}`).toBeGreaterThan(0)
})
