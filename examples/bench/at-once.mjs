/**
 * Turns per second with many conversations at once. Each sends its next message as soon as it has the reply, and each
 * conversation that ends, after 20 turns, is replaced by a new one. Each system runs in separate processes, which
 * alternate.
 */
import { createF1 } from './floors.mjs'
import { bench } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse, turnsPerConversation, userMessage } from './work.mjs'

/** How many conversations, and how much of F1's time a turn may take. */
const counts = new Map([
  [1, undefined],
  [64, undefined],
  [256, 1.3],
  [4096, 2],
])
const milliseconds = 1500
/** More conversations than an engine takes by default. */
const limits = { maxConcurrentTurns: Number.POSITIVE_INFINITY }
const systems = { ours: () => createTurnkeeper(false, { limits }), f1: () => createF1(false) }

bench({
  url: import.meta.url,
  title: `at-once: microseconds of one turn by conversations at once (closed loop, ${milliseconds} ms each)`,
  systems: Object.keys(systems),
  async once(name) {
    const system = systems[name]()
    await converse(system, 300)
    const figures = {}
    for (const count of counts.keys()) {
      await run(system, count, milliseconds / 3)
      figures[`at${count}`] = await run(system, count, milliseconds)
    }
    return figures
  },
  derive: (figures) =>
    Object.fromEntries(
      [...counts.keys()].map((count) => [`ratio${count}`, figures[`ours.at${count}`] / figures[`f1.at${count}`]]),
    ),
  rows: [...counts].flatMap(([count, target]) => [
    { label: `${count} at once: Turnkeeper`, figure: `ours.at${count}`, unit: 'us' },
    { label: `${count} at once: F1`, figure: `f1.at${count}`, unit: 'us' },
    { label: `${count} at once: Turnkeeper over F1`, figure: `ratio${count}`, unit: 'x', target },
  ]),
})

/** Microseconds of the process for each turn. */
async function run(system, count, duration) {
  let turns = 0
  const start = performance.now()
  const isOver = () => (turns & 63) === 0 && performance.now() - start > duration
  let over = false
  const talk = async (firstTurns) => {
    let length = firstTurns
    while (!over) {
      const say = system.start()
      for (let turn = 1; turn <= length && !over; turn++) {
        await say(userMessage(turn))
        turns++
        over ||= isOver()
      }
      length = turnsPerConversation
    }
  }
  // The first ones are of all lengths, so that conversations do not begin and end together.
  await Promise.all(Array.from({ length: count }, (_, index) => talk(1 + (index % turnsPerConversation))))
  return ((performance.now() - start) * 1000) / turns
}
