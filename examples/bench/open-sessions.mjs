/**
 * Time of one turn with many open sessions of 10 to 20 turns each. The sessions take their turns one after the other.
 * Each system runs in separate processes, which alternate.
 */
import { createF1 } from './floors.mjs'
import { bench } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse, turnsPerConversation, userMessage } from './work.mjs'

const counts = [1, 64, 256, 4096]
const turnsBefore = 10
/** About how many sessions are used for each count: new ones replace those that have had all their turns. */
const sessionsInAll = 4096
const systems = { ours: () => createTurnkeeper(), f1: () => createF1(false) }

bench({
  url: import.meta.url,
  title: 'open-sessions: microseconds of one turn by sessions that are open, in round robin',
  systems: Object.keys(systems),
  async once(name) {
    const system = systems[name]()
    await converse(system, 300)
    const figures = {}
    for (const count of counts) figures[`at${count}`] = await timeOfTurn(system, count)
    return figures
  },
  derive: (figures) =>
    Object.fromEntries(counts.map((count) => [`ratio${count}`, figures[`ours.at${count}`] / figures[`f1.at${count}`]])),
  rows: counts.flatMap((count) => [
    { label: `${count} open: Turnkeeper`, figure: `ours.at${count}`, unit: 'us' },
    { label: `${count} open: F1`, figure: `f1.at${count}`, unit: 'us' },
    { label: `${count} open: Turnkeeper over F1`, figure: `ratio${count}`, unit: 'x', target: 1 },
  ]),
})

async function timeOfTurn(system, count) {
  let microseconds = 0
  const rounds = Math.ceil(sessionsInAll / count)
  for (let round = 0; round < rounds; round++) {
    const sessions = Array.from({ length: count }, () => system.start())
    let turn = 1
    for (; turn <= turnsBefore; turn++) for (const say of sessions) await say(userMessage(turn))
    const start = performance.now()
    for (; turn <= turnsPerConversation; turn++) for (const say of sessions) await say(userMessage(turn))
    microseconds += (performance.now() - start) * 1000
  }
  return microseconds / (rounds * count * (turnsPerConversation - turnsBefore))
}
