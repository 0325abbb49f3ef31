/**
 * Time of the first turn of a session that is new to this process. No engine stored it, so the engine checks its plain
 * objects completely before it uses them. For comparison: the next turn, and both turns with F1.
 */
import { createF1 } from './floors.mjs'
import { bench, median } from './harness.mjs'
import { seedSession } from './seed-session.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse, userMessage } from './work.mjs'

const messages = 20
const sessions = 500
const systems = { ours: measureOurs, f1: measureF1 }

bench({
  url: import.meta.url,
  title: `cold: microseconds of the first turn in a stored session of ${messages} messages, and of the next`,
  systems: Object.keys(systems),
  once: (name) => systems[name](),
  derive: (figures) => ({
    ratio: figures['ours.first'] / figures['f1.first'],
    nextRatio: figures['ours.next'] / figures['f1.next'],
  }),
  rows: [
    { label: 'first turn: Turnkeeper', figure: 'ours.first', unit: 'us' },
    { label: 'first turn: F1', figure: 'f1.first', unit: 'us' },
    { label: 'first turn: Turnkeeper over F1', figure: 'ratio', unit: 'x' },
    { label: 'next turn: Turnkeeper', figure: 'ours.next', unit: 'us' },
    { label: 'next turn: F1', figure: 'f1.next', unit: 'us' },
    { label: 'next turn: Turnkeeper over F1', figure: 'nextRatio', unit: 'x' },
  ],
})

async function measureOurs() {
  const system = createTurnkeeper()
  await converse(system, 300)
  const sessionIds = []
  for (let count = 0; count < sessions; count++) sessionIds.push(await seedSession(system, messages))
  const turns = sessionIds.map((sessionId) => async () => {
    const { session } = await system.engine.run({ flowName: 'Support', userMessage: userMessage(1), sessionId })
    if (session !== sessionId) throw new Error('The stored session was not continued.')
  })
  return { first: await timeOfTurn(turns), next: await timeOfTurn(turns) }
}

/** F1 keeps nothing between turns, so its first turn is like any other. */
async function measureF1() {
  const system = createF1(false)
  await converse(system, 300)
  const conversations = Array.from({ length: sessions }, () => system.start())
  for (let turn = 1; turn <= messages / 2; turn++) for (const say of conversations) await say(userMessage(turn))
  const turns = conversations.map((say) => () => say(userMessage(1)))
  return { first: await timeOfTurn(turns), next: await timeOfTurn(turns) }
}

async function timeOfTurn(turns) {
  const times = []
  for (const turn of turns) {
    const start = performance.now()
    await turn()
    times.push((performance.now() - start) * 1000)
  }
  return median(times)
}
