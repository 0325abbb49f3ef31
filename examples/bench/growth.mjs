/**
 * Time of one turn in conversations of growing length. The cost of a turn must not depend on the length of the
 * conversation. Sessions are stored, one of each length; then each takes a turn, and each another.
 */
import { bench, median } from './harness.mjs'
import { seedSession } from './seed-session.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse, userMessage } from './work.mjs'

const lengths = [10, 100, 1000, 5000]
const rounds = 150
const turnsPerRound = 5

bench({
  url: import.meta.url,
  title: 'growth: microseconds of one turn by messages in memory',
  async once() {
    const system = createTurnkeeper()
    await converse(system, 300)
    const times = new Map(lengths.map((length) => [length, []]))
    for (let round = 0; round < rounds; round++) {
      const sessionIds = []
      for (const length of lengths) sessionIds.push(await seedSession(system, length))
      // The first turn checks what no engine stored; from then on the lists are known.
      for (const sessionId of sessionIds) await turn(system, sessionId)
      for (let count = 0; count < turnsPerRound; count++) {
        for (const [index, length] of lengths.entries()) times.get(length).push(await turn(system, sessionIds[index]))
      }
      for (const sessionId of sessionIds) await system.engine.deleteSession(sessionId)
    }
    const figures = Object.fromEntries(lengths.map((length) => [`at${length}`, median(times.get(length))]))
    return { ...figures, ratio: figures.at5000 / figures.at10 }
  },
  rows: [
    ...lengths.map((length) => ({ label: `${length} messages`, figure: `at${length}`, unit: 'us' })),
    { label: '5000 messages over 10', figure: 'ratio', unit: 'x', target: 1.3 },
  ],
})

async function turn({ engine }, sessionId) {
  const start = performance.now()
  const response = await engine.run({ flowName: 'Support', userMessage: userMessage(1), sessionId })
  const time = (performance.now() - start) * 1000
  if (response.session !== sessionId) throw new Error(`The stored session was not continued: ${response.message}`)
  return time
}
