/**
 * Time of one turn in conversations of growing length. What a turn costs must not depend on how long the conversation
 * is. Sessions are stored, one of each length; then each takes a turn, and each another.
 */
import { bench, median } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer, converse, userMessage } from './work.mjs'

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
      for (const length of lengths) sessionIds.push(await seed(system, length))
      // The first turn checks what was stored by other hands; from then on the lists are known.
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
    { label: '5000 messages over 10', figure: 'ratio', unit: 'x', target: 1.5 },
  ],
})

/** Stores a session with so many messages, and a history to match. */
async function seed({ engine, store }, length) {
  const { session } = await engine.run({ flowName: 'Support', userMessage: userMessage(1) })
  const document = await store.load(session)
  const turns = Array.from({ length: length / 2 }, (_, index) => index + 1)
  const messages = turns.flatMap((turn) => [
    message('user', userMessage(turn), turn),
    message('assistant', answer, turn),
  ])
  const history = turns.map((turn) => ({ ...document.history[0], turn, message: userMessage(turn) }))
  await store.save(
    {
      ...document,
      revision: '2-seed',
      bytes: JSON.stringify(messages).length + JSON.stringify(history).length,
      flow: { ...document.flow, memory: { support: { messages } } },
      history,
    },
    document.revision,
  )
  return session
}

function message(role, text, turn) {
  return { role, parts: [{ type: 'text', text }], turn }
}

async function turn({ engine }, sessionId) {
  const start = performance.now()
  const response = await engine.run({ flowName: 'Support', userMessage: userMessage(1), sessionId })
  const time = (performance.now() - start) * 1000
  if (response.session !== sessionId) throw new Error(`The stored session was not continued: ${response.message}`)
  return time
}
