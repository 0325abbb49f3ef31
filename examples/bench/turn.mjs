/**
 * Time of one turn in conversations of 20, against the floors. Short batches of each system alternate, so that other
 * work of the machine affects all of them alike.
 */
import { createF1, createF2 } from './floors.mjs'
import { bench, median } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse, turnsPerConversation } from './work.mjs'

const conversationsPerBatch = 10
const batches = 100

bench({
  url: import.meta.url,
  title: 'turn: microseconds of one turn, memory store, model that answers at once',
  async once() {
    return { ...(await compare('plain', false)), ...(await compare('tool', true)) }
  },
  rows: [
    { label: 'plain: Turnkeeper', figure: 'plainOurs', unit: 'us' },
    { label: 'plain: F1 (Map, structuredClone)', figure: 'plainF1', unit: 'us' },
    { label: 'plain: F2 (Map, JSON)', figure: 'plainF2', unit: 'us' },
    { label: 'plain: Turnkeeper over F1', figure: 'plainRatio', unit: 'x', target: 1 },
    { label: 'one tool call: Turnkeeper', figure: 'toolOurs', unit: 'us' },
    { label: 'one tool call: F1', figure: 'toolF1', unit: 'us' },
    { label: 'one tool call: F2', figure: 'toolF2', unit: 'us' },
    { label: 'one tool call: Turnkeeper over F1', figure: 'toolRatio', unit: 'x', target: 0.7 },
  ],
})

async function compare(name, withTool) {
  const systems = [createTurnkeeper(withTool), createF1(withTool), createF2(withTool)]
  for (const system of systems) await converse(system, 300)
  const times = systems.map(() => [])
  for (let batch = 0; batch < batches; batch++) {
    for (const [index, system] of systems.entries()) times[index].push(await timeOfTurn(system))
  }
  const [ours, f1, f2] = times.map(median)
  return { [`${name}Ours`]: ours, [`${name}F1`]: f1, [`${name}F2`]: f2, [`${name}Ratio`]: ours / f1 }
}

async function timeOfTurn(system) {
  const start = performance.now()
  await converse(system, conversationsPerBatch)
  return ((performance.now() - start) * 1000) / (conversationsPerBatch * turnsPerConversation)
}
