/**
 * A turn over the stores that are kept: what goes over the wire to Redis, and the time of a turn by the length of the
 * conversation, beside floors over the same server. Sessions of every length are stored for every system; then each
 * takes a few turns, in an order that changes, so that what else the machine does meets all of them.
 */
import { Keyv } from 'keyv'
import { createPostgresKeyv, createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { bench, median } from './harness.mjs'
import { createF3, createF6, createF7 } from './store-floors.mjs'
import { loadSqlite, makeFolder, missing, startPostgres, startProxy, startRedis } from './store-servers.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer, userMessage } from './work.mjs'

const lengths = [10, 100, 1000, 5000]
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
  title: `store: microseconds of one turn by messages in memory, and its traffic${leftOut.map(telling).join('')}`,
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

function telling({ name, label }) {
  return `; left out: ${label}, for ${missing.get(name)}`
}

function rowsOf({ name, label, floor }) {
  const wire = [
    ...lengths.map((length) => ({ label: `commands at ${length}`, figure: `commands${length}`, unit: '', target: 2 })),
    ...lengths.map((length) => ({ label: `bytes at ${length}`, figure: `bytes${length}`, unit: 'bytes' })),
    { label: 'bytes at 5000 over those at 10', figure: 'bytesRatio', unit: 'x', target: 1.3 },
  ]
  // Turns a second over those of the floor, turned over: what is at most this much of the floor's time.
  const targets =
    name === 'redis'
      ? new Map([
          [10, 1 / 0.8],
          [5000, 1 / 12],
        ])
      : new Map([
          [10, 1 / 0.5],
          [1000, 1],
        ])
  const row = (text, figure, unit, target) => ({
    label: `${label}: ${text}`,
    figure: `${name}${figure}`,
    unit,
    ...(target === undefined ? {} : { target: Math.floor(target * 1000) / 1000 }),
  })
  return [
    ...(name === 'redis' ? wire.map((line) => ({ ...line, label: `${label}: ${line.label}` })) : []),
    ...lengths.map((length) => row(`a turn at ${length}`, `Ours${length}`, 'us')),
    ...(name === 'sqlite' ? [row('a turn at 10, synchronous = FULL', 'Full10', 'us')] : []),
    ...lengths.map((length) => row(`${floor} at ${length}`, `Floor${length}`, 'us')),
    ...lengths.map((length) => row(`time over ${floor} at ${length}`, `Ratio${length}`, 'x', targets.get(length))),
    row('a turn at 5000 over one at 10', 'Growth', 'x', name === 'redis' ? 1.5 : undefined),
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

/** The engine over a store, with what the floors have. */
function createSystem(keyv) {
  const store = new KeyvSessionStore({ keyv })
  const { engine } = createTurnkeeper(false, { sessionStore: store })
  return {
    seed: (length) => seed(engine, store, length),
    async turn(sessionId) {
      const response = await engine.run({ flowName: 'Support', userMessage: userMessage(1), sessionId })
      if (response.session !== sessionId || response.message !== answer) {
        throw new Error(`The stored session was not continued: ${response.message}`)
      }
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
  await store.save({ ...document, revision: '2-seed', bytes, flow, history }, document.revision)
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
  for (const system of systems) await system.close()
  const figures = {}
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
        // The first turn checks what was stored by other hands; from then on the lists are known.
        await system.turn(sessionId)
        sessions.push({ system, sessionId, record: times[index].get(length) })
      }
    }
    for (const { system, sessionId, record } of shuffled(sessions)) {
      // It pays for what the system before it left to be collected.
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

/** Who comes after whom is different each time. */
function shuffled(list) {
  const rest = [...list]
  return list.map(() => rest.splice(Math.floor(Math.random() * rest.length), 1)[0])
}
