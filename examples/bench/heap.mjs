/**
 * The memory of a stored conversation of 20 turns, compared with F1, and with the memory store's own count: for such a
 * conversation, for a large state and for a photo. The store's count follows from the number of sessions that it keeps
 * within `maxBytes`. Also the memory of a turn that waits for its model, which bounds `maxConcurrentTurns`.
 */
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply, Step } from 'turnkeeper'
import { createF1 } from './floors.mjs'
import { bench, heapInUse } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse } from './work.mjs'

const sessions = 1000
const megabyte = 1024 * 1024

class Keep extends LogicStep {
  static id = 'Keep'
  run(turn) {
    if (turn.message === 'text') this.state.text = randomText(megabyte)
    if (turn.message === 'list') this.state.guests = Array.from({ length: 14_000 }, guest)
    return reply('Kept.')
  }
}

class KeepFlow extends Flow {
  static id = 'KeepFlow'
  steps() {
    return [Keep]
  }
}

class Ask extends Step {
  static id = 'Ask'
}

class AskFlow extends Flow {
  static id = 'AskFlow'
  model() {
    return { provider: 'bench', name: 'waiting' }
  }
  steps() {
    return [Ask]
  }
}

/** Lengths of the message of a turn that waits for its model: short, and as long as `maxMessageBytes`. */
const messages = { short: 100, full: 262_144 }
const waiting = 2000

/** Kinds of sessions: the name in the table, how many are stored within how many bytes, and how one is made. */
const kinds = {
  talk: { label: '20 turns', maxBytes: 8 * megabyte, count: 1500, make: talk },
  text: { label: 'a state of 1 MB, one text', maxBytes: 48 * megabyte, count: 80, make: keep('text') },
  list: { label: 'a state of 1 MB, 14 000 objects', maxBytes: 48 * megabyte, count: 80, make: keep('list') },
  photo: { label: 'a photo of 1 MB', maxBytes: 48 * megabyte, count: 80, make: sendPhoto },
}

bench({
  url: import.meta.url,
  title: 'heap: KiB that one stored session takes',
  runs: 5,
  systems: ['all', ...Object.keys(kinds), ...Object.keys(messages)],
  async once(name) {
    if (kinds[name] !== undefined) return count(kinds[name])
    if (messages[name] !== undefined) return wait(messages[name])
    const ours = await kept(createTurnkeeper())
    const f1 = await kept(createF1(false))
    return { ours, f1, ratio: ours / f1 }
  },
  rows: [
    { label: `${sessions} sessions of 20 turns: Turnkeeper`, figure: 'all.ours', unit: 'KiB' },
    { label: `${sessions} sessions of 20 turns: F1`, figure: 'all.f1', unit: 'KiB' },
    { label: `${sessions} sessions of 20 turns: Turnkeeper over F1`, figure: 'all.ratio', unit: 'x', target: 2.5 },
    ...Object.entries(kinds).flatMap(([kind, { label }]) => [
      { label: `${label}: measured`, figure: `${kind}.measured`, unit: 'KiB' },
      { label: `${label}: as the store counts`, figure: `${kind}.counted`, unit: 'KiB' },
      { label: `${label}: one over the other, the larger first`, figure: `${kind}.factor`, unit: 'x', target: 1.5 },
    ]),
    ...Object.entries(messages).map(([name, characters]) => ({
      label: `a turn that waits for its model, with a message of ${characters} characters`,
      figure: `${name}.each`,
      unit: 'KiB',
    })),
  ],
})

async function kept(system) {
  // First warm the code up: compiled code and caches belong to no session.
  await converse(system, 100)
  const before = await heapInUse()
  await converse(system, sessions)
  const bytes = (await heapInUse()) - before
  // The system must live until here, or there is nothing left to measure.
  system.start()
  return bytes / 1024 / sessions
}

/**
 * Stores more sessions than fit. The kept ones take the growth of the heap, and the store counts them as `maxBytes`.
 */
async function count({ maxBytes, count: stored, make }) {
  await makeAll(new MemorySessionStore(), make, 10)
  const before = await heapInUse()
  const store = new MemorySessionStore({ maxBytes })
  let left = stored
  store.onEvicted(() => left--)
  const engine = await makeAll(store, make, stored)
  const grown = (await heapInUse()) - before
  if (left === stored) throw new Error('No session was evicted, so what the store counts is not known.')
  await engine.close()
  const [measured, counted] = [grown / 1024 / left, maxBytes / 1024 / left]
  return { measured, counted, factor: Math.max(measured / counted, counted / measured) }
}

/** Turns at the same time, whose model does not answer until the heap is measured. */
async function wait(characters) {
  const asked = []
  const model = { provider: 'bench', name: 'waiting', generate: () => new Promise((resolve) => asked.push(resolve)) }
  const engine = new FlowEngine({ flows: [AskFlow], providers: [{ provider: 'bench', resolve: () => model }] })
  const answer = async (count) => {
    const turns = Array.from({ length: count }, () =>
      expectSuccess(engine.run({ flowName: 'AskFlow', userMessage: randomText(characters) })),
    )
    while (asked.length < count) await new Promise((resolve) => setImmediate(resolve))
    const bytes = await heapInUse()
    for (const resolve of asked.splice(0)) resolve({ parts: [{ type: 'text', text: 'Thanks.' }] })
    await Promise.all(turns)
    return bytes
  }
  // First the code itself, as above.
  await answer(100)
  const before = await heapInUse()
  const each = ((await answer(waiting)) - before) / 1024 / waiting
  await engine.close()
  return { each }
}

async function makeAll(sessionStore, make, stored) {
  const off = Number.POSITIVE_INFINITY
  const limits = { maxSessionBytes: off, maxAttachmentBytes: off }
  const system = createTurnkeeper(false, { sessionStore, limits })
  system.engine.registerFlow(KeepFlow)
  for (let index = 0; index < stored; index++) await make(system)
  return system.engine
}

function talk(system) {
  return converse(system, 1)
}

function keep(userMessage) {
  return ({ engine }) => expectSuccess(engine.run({ flowName: 'KeepFlow', userMessage }))
}

function sendPhoto({ engine }) {
  const attachments = [{ type: 'image', mediaType: 'image/jpeg', data: randomText((megabyte * 4) / 3 - 1) }]
  return expectSuccess(engine.run({ flowName: 'Support', userMessage: 'Look at this.', attachments }))
}

async function expectSuccess(response) {
  const { success, message } = await response
  if (!success) throw new Error(message)
}

/** A unique text of base64 letters, with a length that is a multiple of 4. */
function randomText(length) {
  const bytes = Buffer.alloc(Math.ceil(length / 4) * 3)
  for (let at = 0; at < bytes.length; at += 997) bytes[at] = Math.random() * 256
  return bytes.toString('base64')
}

function guest(_, index) {
  return { name: `Guest ${index}`, table: index % 40, isHere: true, wish: `vegetarian ${index % 7}` }
}
