/**
 * A turn over the durable stores: the traffic to Redis, the time of a turn by the length of the conversation, the first
 * load of a session that is new to the process, and 256 conversations at once over Redis; each compared with baselines
 * over the same server. Systems alternate in a changing order, so that other load on the machine affects all of them.
 */
import { Keyv } from 'keyv'
import { createPostgresKeyv, createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { bench, median } from './harness.mjs'
import { createF3, createF6, createF7 } from './store-floors.mjs'
import { loadSqlite, makeFolder, missing, startPostgres, startProxy, startRedis } from './store-servers.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer, userMessage } from './work.mjs'

const lengths = [10, 100, 1000, 5000]
/** Turns of a session that is loaded cold: 20 messages. */
const coldTurns = 10
const coldLoads = 300
const atOnce = 256
const turnsAtOnce = 20
const roundsAtOnce = 5
const rounds = 12
const turnsPerRound = 6
const warmUps = 500
/** Without a backend, so that what all three share is compiled before any of them is measured. */
const turnsBefore = 6000

const backends = [
  { name: 'redis', label: 'Redis', floor: 'F3', measure: measureRedis },
  { name: 'sqlite', label: 'SQLite', floor: 'F6', measure: measureSqlite },
  { name: 'postgres', label: 'Postgres', floor: 'F7', measure: measurePostgres },
]
const measured = backends.filter(({ name }) => !missing.has(name))
const leftOut = backends.filter(({ name }) => missing.has(name))

bench({
  url: import.meta.url,
  title: `store: microseconds of one turn by messages in memory, and its traffic${leftOut.map(leftOutText).join('')}`,
  async once() {
    const system = createSystem(new Keyv())
    await warmUp(system, turnsBefore)
    const figures = {}
    for (const { measure } of measured) Object.assign(figures, await measure())
    return figures
  },
  rows: measured.flatMap(rowsOf),
})

if (leftOut.length > 0 && process.argv.includes('--strict')) process.exitCode = 1

function leftOutText({ name, label }) {
  return `; left out: ${label}, for ${missing.get(name)}`
}

function rowsOf({ name, label, floor }) {
  const wire = [
    ...lengths.map((length) => ({ label: `commands at ${length}`, figure: `commands${length}`, unit: '', target: 2 })),
    ...lengths.map((length) => ({ label: `bytes at ${length}`, figure: `bytes${length}`, unit: 'bytes' })),
    { label: 'bytes at 5000 over those at 10', figure: 'bytesRatio', unit: 'x', target: 1.3 },
  ]
  const targets =
    name === 'redis'
      ? new Map([
          [10, 1.25],
          [5000, 0.083],
        ])
      : new Map([
          [10, 2],
          [100, 2],
          [1000, 1],
        ])
  const row = (text, figure, unit, target) => ({
    label: `${label}: ${text}`,
    figure: `${name}${figure}`,
    unit,
    ...(target === undefined ? {} : { target }),
  })
  return [
    ...(name === 'redis' ? wire.map((line) => ({ ...line, label: `${label}: ${line.label}` })) : []),
    ...lengths.map((length) => row(`a turn at ${length}`, `Ours${length}`, 'us')),
    ...(name === 'sqlite' ? [row('a turn at 10, synchronous = FULL', 'Full10', 'us')] : []),
    ...lengths.map((length) => row(`${floor} at ${length}`, `Floor${length}`, 'us')),
    ...lengths.map((length) => row(`time over ${floor} at ${length}`, `Ratio${length}`, 'x', targets.get(length))),
    row('a turn at 5000 over one at 10', 'Growth', 'x', name === 'redis' ? 1.5 : undefined),
    row('a cold load of 20 messages', 'ColdOurs', 'us'),
    row(`a cold load over ${floor}`, 'ColdRatio', 'x', 3),
    ...(name === 'redis'
      ? [
          row(`turns a second, ${atOnce} at once`, 'AtOnceOurs', '/s'),
          row(`turns a second of ${floor}, ${atOnce} at once`, 'AtOnceFloor', '/s'),
          // At least 0.75 of the floor's turns a second.
          row(`time over ${floor}, ${atOnce} at once`, 'AtOnceRatio', 'x', 1.333),
        ]
      : []),
  ]
}

async function measureRedis() {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  try {
    const wire = await measureWire(await createSystem(await createRedisKeyv(proxy.url)), proxy)
    return {
      ...wire,
      ...(await compare('redis', await createSystem(await createRedisKeyv(server.url)), await createF3(server.url))),
    }
  } finally {
    proxy.stop()
    await server.stop()
  }
}

async function measureSqlite() {
  const { folder, remove } = makeFolder()
  const { KeyvSqlite, sqlite3 } = loadSqlite()
  const open = (name, synchronous) =>
    createSystem(
      new Keyv({ store: new KeyvSqlite({ uri: `sqlite://${folder}/${name}`, synchronous, busyTimeout: 2_500 }) }),
    )
  try {
    const floor = await createF6(sqlite3, `${folder}/floor.sqlite`)
    const figures = await compare('sqlite', await open('ours.sqlite', 'normal'), floor)
    const full = await open('full.sqlite', 'full')
    const times = await takeTurns([full], [10])
    await full.close()
    return { ...figures, sqliteFull10: median(times[0].get(10)) }
  } finally {
    remove()
  }
}

async function measurePostgres() {
  const server = await startPostgres()
  try {
    return await compare(
      'postgres',
      await createSystem(await createPostgresKeyv(server.url)),
      await createF7(server.url),
    )
  } finally {
    await server.stop()
  }
}

/** The engine over a store, with the methods of the floors. */
function createSystem(keyv) {
  const store = new KeyvSessionStore({ keyv })
  const coldStore = new KeyvSessionStore({ keyv, cacheBytes: 0, closeKeyv: false })
  const { engine } = createTurnkeeper(false, { sessionStore: store })
  return {
    seed: (length) => seed(engine, store, length),
    async turn(sessionId) {
      const response = await engine.run({ flowName: 'Support', userMessage: userMessage(1), sessionId })
      if (response.session !== sessionId || response.message !== answer) {
        throw new Error(`The stored session was not continued: ${response.message}`)
      }
    },
    async begin() {
      return (await engine.run({ flowName: 'Support', userMessage: userMessage(1) })).session
    },
    async load(sessionId) {
      const { messages } = (await coldStore.load(sessionId)).flow.memory.support
      if (messages.length !== 2 * coldTurns) throw new Error(`${messages.length} messages were loaded.`)
    },
    remove: (sessionId) => engine.deleteSession(sessionId),
    close: () => engine.close(),
  }
}

/** Stores a session with so many messages, and a history to match. */
async function seed(engine, store, length) {
  const { session } = await engine.run({ flowName: 'Support', userMessage: userMessage(1) })
  const document = await store.load(session)
  const turns = Array.from({ length: length / 2 }, (_, index) => index + 1)
  const messages = turns.flatMap((turn) => [
    { role: 'user', parts: [{ type: 'text', text: userMessage(turn) }], turn },
    { role: 'assistant', parts: [{ type: 'text', text: answer }], turn },
  ])
  const history = turns.map((turn) => ({ ...document.history[0], turn, message: userMessage(turn) }))
  const bytes = JSON.stringify(messages).length + JSON.stringify(history).length
  const flow = { ...document.flow, memory: { support: { messages } } }
  const stored = { ...document, revision: '2-seed', turns: turns.length, bytes, flow, history }
  await store.save(stored, document.revision)
  return session
}

/** The median over turns that meet a warm store: the commands and the bytes of one. */
async function measureWire(system, proxy) {
  const figures = {}
  for (const length of lengths) {
    const sessionId = await system.seed(length)
    for (let count = 0; count < 3; count++) await system.turn(sessionId)
    const traffic = []
    for (let count = 0; count < 25; count++) {
      proxy.take()
      await system.turn(sessionId)
      traffic.push(proxy.take())
    }
    figures[`commands${length}`] = median(traffic.map(({ commands }) => commands))
    figures[`bytes${length}`] = median(traffic.map(({ bytes }) => bytes))
  }
  await system.close()
  return { ...figures, bytesRatio: figures.bytes5000 / figures.bytes10 }
}

async function compare(name, ours, floor) {
  const systems = [ours, floor]
  for (const system of systems) await warmUp(system, warmUps)
  const times = await takeTurns(systems, lengths)
  const [coldOurs, coldFloor] = (await loadCold(systems)).map(median)
  const figures = { [`${name}ColdOurs`]: coldOurs, [`${name}ColdRatio`]: coldOurs / coldFloor }
  if (name === 'redis') {
    const [own, other] = (await turnsPerSecond(systems)).map(median)
    Object.assign(figures, { redisAtOnceOurs: own, redisAtOnceFloor: other, redisAtOnceRatio: other / own })
  }
  for (const system of systems) await system.close()
  for (const length of lengths) {
    const [own, other] = times.map((byLength) => median(byLength.get(length)))
    figures[`${name}Ours${length}`] = own
    figures[`${name}Floor${length}`] = other
    figures[`${name}Ratio${length}`] = own / other
  }
  figures[`${name}Growth`] = figures[`${name}Ours5000`] / figures[`${name}Ours10`]
  return figures
}

async function warmUp(system, turns) {
  for (let count = 0; count < turns; ) {
    const sessionId = await system.seed(10)
    for (const end = count + 20; count < end; count++) await system.turn(sessionId)
    await system.remove(sessionId)
  }
}

/** The times of turns in microseconds, by system and length. */
async function takeTurns(systems, atLengths) {
  const times = systems.map(() => new Map(atLengths.map((length) => [length, []])))
  for (let round = 0; round < rounds; round++) {
    const sessions = []
    for (const [index, system] of systems.entries()) {
      for (const length of atLengths) {
        const sessionId = await system.seed(length)
        // The first turn checks the document, which no engine stored; from then on the lists are known.
        await system.turn(sessionId)
        sessions.push({ system, sessionId, record: times[index].get(length) })
      }
    }
    for (const { system, sessionId, record } of shuffled(sessions)) {
      // Collects the garbage of the system before it.
      await system.turn(sessionId)
      for (let count = 0; count < turnsPerRound; count++) {
        const start = performance.now()
        await system.turn(sessionId)
        record.push((performance.now() - start) * 1000)
      }
    }
    for (const { system, sessionId } of sessions) await system.remove(sessionId)
  }
  return times
}

/** The times of first loads in microseconds, by system. */
async function loadCold(systems) {
  const sessions = []
  for (const system of systems) {
    const sessionId = await system.begin()
    for (let turn = 1; turn < coldTurns; turn++) await system.turn(sessionId)
    sessions.push({ system, sessionId, record: [] })
  }
  for (let count = 0; count < 2 * coldLoads; count++) {
    for (const { system, sessionId, record } of sessions) {
      const start = performance.now()
      await system.load(sessionId)
      // The first half warms the code up.
      if (count >= coldLoads) record.push((performance.now() - start) * 1000)
    }
  }
  return sessions.map(({ record }) => record)
}

/**
 * Turns a second of many conversations at once, each of which takes its next turn when the last one is done; by system.
 */
async function turnsPerSecond(systems) {
  const rates = systems.map(() => [])
  for (let round = -1; round < roundsAtOnce; round++) {
    for (const [index, system] of systems.entries()) {
      const start = performance.now()
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          const sessionId = await system.begin()
          for (let turn = 1; turn < turnsAtOnce; turn++) await system.turn(sessionId)
        }),
      )
      const rate = (atOnce * turnsAtOnce) / ((performance.now() - start) / 1000)
      // The first round warms the code up.
      if (round >= 0) rates[index].push(rate)
    }
  }
  return rates
}

/** In another order each time. */
function shuffled(list) {
  const rest = [...list]
  return list.map(() => rest.splice(Math.floor(Math.random() * rest.length), 1)[0])
}
