/**
 * The cost of an idempotency key: the same turns with a new key each and without, in memory and over Redis. The two
 * kinds of sessions alternate.
 */
import { randomUUID } from 'node:crypto'
import { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { bench, median } from './harness.mjs'
import { missing, startRedis } from './store-servers.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { turnsPerConversation, userMessage } from './work.mjs'

const hasRedis = !missing.has('redis')
const places = [
  { name: 'memory', label: 'in memory', sessions: 256, rounds: 24, target: 1.6 },
  ...(hasRedis ? [{ name: 'redis', label: 'over Redis', sessions: 16, rounds: 16, target: 1.1 }] : []),
]

bench({
  url: import.meta.url,
  title: `keys: microseconds of one turn with an idempotency key, and without${hasRedis ? '' : `; left out: Redis, for ${missing.get('redis')}`}`,
  async once() {
    const figures = {}
    for (const place of places) Object.assign(figures, await measure(place))
    return figures
  },
  rows: places.flatMap(({ name, label, target }) => [
    { label: `${label}: without a key`, figure: `${name}.plain`, unit: 'us' },
    { label: `${label}: with a key`, figure: `${name}.keyed`, unit: 'us' },
    { label: `${label}: with a key over without`, figure: `${name}.ratio`, unit: 'x', target },
  ]),
})

async function measure({ name, sessions, rounds }) {
  const redis = name === 'redis' ? await startRedis() : undefined
  const sessionStore = redis && new KeyvSessionStore({ keyv: await createRedisKeyv(redis.url) })
  const { engine } = createTurnkeeper(false, redis === undefined ? {} : { sessionStore })
  const times = { plain: [], keyed: [] }
  // Both take turns, in an order that changes, so that what else the machine does affects both.
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? ['plain', 'keyed'] : ['keyed', 'plain']) {
      const time = await timeOfTurn(engine, kind === 'keyed', sessions)
      if (round >= rounds / 4) times[kind].push(time)
    }
  }
  await engine.close()
  await redis?.stop()
  const [plain, keyed] = [median(times.plain), median(times.keyed)]
  return { [`${name}.plain`]: plain, [`${name}.keyed`]: keyed, [`${name}.ratio`]: keyed / plain }
}

async function timeOfTurn(engine, hasKey, count) {
  const inputs = Array.from({ length: count }, () => ({ flowName: 'Support' }))
  const start = performance.now()
  for (let turn = 1; turn <= turnsPerConversation; turn++) {
    for (const input of inputs) {
      const key = hasKey ? { idempotencyKey: randomUUID() } : {}
      const response = await engine.run({ ...input, ...key, userMessage: userMessage(turn) })
      if (!response.success) throw new Error(response.message)
      input.sessionId = response.session
    }
  }
  return ((performance.now() - start) * 1000) / (count * turnsPerConversation)
}
