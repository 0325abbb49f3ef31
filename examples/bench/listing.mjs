/**
 * The cost of listings: conversations with an owner, which the store lists, and conversations without one. They
 * alternate, so that other load on the machine affects both. Also the time to read a page of an owner's sessions.
 */

import { Keyv } from 'keyv'
import { createPostgresKeyv, createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { bench, median } from './harness.mjs'
import { loadSqlite, makeFolder, missing, startPostgres, startRedis } from './store-servers.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { turnsPerConversation, userMessage } from './work.mjs'

const sessions = 16
const rounds = 24

const backends = [
  { name: 'redis', label: 'Redis', open: openRedis },
  { name: 'sqlite', label: 'SQLite', open: openSqlite },
  { name: 'postgres', label: 'Postgres', open: openPostgres },
]
const measured = backends.filter(({ name }) => !missing.has(name))
const leftOut = backends.filter(({ name }) => missing.has(name))

bench({
  url: import.meta.url,
  title: `listing: microseconds of one turn with a listed owner, and without${leftOut.map(leftOutText).join('')}`,
  async once() {
    const figures = {}
    for (const backend of measured) Object.assign(figures, await measure(backend))
    return figures
  },
  rows: measured.flatMap(({ name, label }) => [
    { label: `${label}: without an owner`, figure: `${name}.plain`, unit: 'us' },
    { label: `${label}: with an owner`, figure: `${name}.owned`, unit: 'us' },
    { label: `${label}: with an owner over without`, figure: `${name}.ratio`, unit: 'x', target: 1.05 },
    { label: `${label}: a page of ${sessions} sessions`, figure: `${name}.page`, unit: 'us' },
  ]),
})

function leftOutText({ name, label }) {
  return `; left out: ${label}, for ${missing.get(name)}`
}

async function measure({ name, open }) {
  const { keyv, end } = await open()
  const { engine } = createTurnkeeper(false, { sessionStore: new KeyvSessionStore({ keyv }) })
  const times = { plain: [], owned: [], page: [] }
  // What is in no set is looked for once.
  await listAll(engine, 'nobody')
  for (let round = 0; round < rounds; round++) {
    const owner = `owner-${round}`
    for (const kind of round % 2 === 0 ? ['plain', 'owned'] : ['owned', 'plain']) {
      const time = await timeOfTurn(engine, kind === 'owned' ? { owner } : {})
      if (round >= rounds / 4) times[kind].push(time)
    }
    const start = performance.now()
    const count = await listAll(engine, owner)
    times.page.push((performance.now() - start) * 1000)
    if (count !== sessions) throw new Error(`${count} sessions were listed.`)
  }
  await engine.close()
  await end()
  const [plain, owned, page] = [median(times.plain), median(times.owned), median(times.page)]
  return {
    [`${name}.plain`]: plain,
    [`${name}.owned`]: owned,
    // Rounds stand beside each other: the ratio of each, and of those the median.
    [`${name}.ratio`]: median(times.owned.map((time, index) => time / times.plain[index])),
    [`${name}.page`]: page,
  }
}

async function listAll(engine, owner) {
  let count = 0
  let cursor
  do {
    const page = await engine.listSessions({ owner, ...(cursor === undefined ? {} : { cursor }) })
    count += page.sessions.length
    cursor = page.cursor
  } while (cursor !== undefined)
  return count
}

async function timeOfTurn(engine, owner) {
  const inputs = Array.from({ length: sessions }, () => ({ flowName: 'Support', ...owner }))
  const start = performance.now()
  for (let turn = 1; turn <= turnsPerConversation; turn++) {
    for (const input of inputs) {
      const response = await engine.run({ ...input, userMessage: userMessage(turn) })
      if (!response.success) throw new Error(response.message)
      input.sessionId = response.session
    }
  }
  return ((performance.now() - start) * 1000) / (sessions * turnsPerConversation)
}

async function openRedis() {
  const server = await startRedis()
  return { keyv: await createRedisKeyv(server.url), end: () => server.stop() }
}

async function openSqlite() {
  const { folder, remove } = makeFolder()
  const { KeyvSqlite } = loadSqlite()
  const store = new KeyvSqlite({ uri: `sqlite://${folder}/listing.sqlite`, synchronous: 'normal', busyTimeout: 2_500 })
  return { keyv: new Keyv({ store }), end: remove }
}

async function openPostgres() {
  const server = await startPostgres()
  return { keyv: await createPostgresKeyv(server.url), end: () => server.stop() }
}
