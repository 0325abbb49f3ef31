/**
 * Counts what a turn over the memory store costs: promises, timers and bytes of garbage. Unlike times, these are the
 * same on a busy machine. A bound is lowered when a turn gets cheaper, and raised only for a reason.
 */
import { expect, test } from 'vitest'
import { project, run } from './run.js'

/** The turns of 20-turn conversations, one after the other, with an instant model. Prints the cost of each kind. */
const program = `
import { createHook } from 'node:async_hooks'
import { Flow, FlowEngine, go, LogicStep, MemorySessionStore, reply, Step, tool } from 'turnkeeper'

const text = 'Thanks, I noted that down. What next?'
class Logic extends LogicStep { run() { return reply(text) } }
class Shared extends Step { memory = 'support' }
class One extends Shared { onReply(said) { return go(Two).withReply(said) } }
class Two extends Shared { onReply(said) { return go(Three).withReply(said) } }
class Three extends Shared { onReply(said) { return go(One).withReply(said) } }
class LogicFlow extends Flow { static id = 'logic'; steps() { return [Logic] } }
class ModelFlow extends Flow {
  static id = 'model'
  model() { return { provider: 'fake', name: 'fake' } }
  steps() { return [One, Two, Three] }
}
const input = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } }
const inputJsonSchema = { type: 'object' }
const execute = async () => ({ status: 'shipped', eta: '2 days' })
const lookup = tool({ name: 'lookup', description: 'Looks an order up.', input, inputJsonSchema, execute })
class ToolFlow extends ModelFlow { static id = 'tool'; tools() { return [lookup] } }

const calls = { type: 'tool-call', toolCallId: 'call', toolName: 'lookup', input: { key: 'order-42' } }
const answer = async (messages, tools) =>
  tools.length > 0 && messages.at(-1).role === 'user' ? calls : { type: 'text', text }
const model = { provider: 'fake', name: 'fake', generate: async ({ messages, tools }) => ({ parts: [await answer(messages, tools)] }) }
const engine = new FlowEngine({
  flows: [LogicFlow, ModelFlow, ToolFlow],
  providers: [{ provider: 'fake', resolve: () => model }],
  sessionStore: new MemorySessionStore({ maxSessions: 1_000_000 }),
})

/** One turn, as a handler of an application would run it. */
async function runTurn(input) {
  const turn = await engine.run(input)
  if (!turn.success) throw new Error(turn.message)
  return turn.session
}

async function conversations(flowName, count) {
  for (let one = 0; one < count; one++) {
    let sessionId
    for (let number = 0; number < 20; number++) {
      const userMessage = 'This is user message number ' + number + ', hello.'
      sessionId = await runTurn(sessionId === undefined ? { flowName, userMessage } : { flowName, userMessage, sessionId })
    }
  }
}

/** Promises and timers of a turn. */
async function resourcesOf(flowName) {
  const made = { PROMISE: 0, Timeout: 0 }
  const hook = createHook({ init(_id, type) { if (type in made) made[type]++ } }).enable()
  await conversations(flowName, 10)
  hook.disable()
  return { promises: Math.round(made.PROMISE / 200), timers: Math.round(made.Timeout / 200) }
}

/** KiB that a turn allocates: nothing is collected meanwhile, for the young generation has room for more. */
async function kibOf(flowName) {
  const found = []
  for (let time = 0; time < 5; time++) {
    gc()
    const before = process.memoryUsage().heapUsed
    await conversations(flowName, 10)
    found.push((process.memoryUsage().heapUsed - before) / 200 / 1024)
  }
  return Math.round(found.sort((one, other) => one - other)[2] * 10) / 10
}

const costs = {}
for (const flowName of ['logic', 'model', 'tool']) {
  await conversations(flowName, 300)
  const kib = await kibOf(flowName)
  costs[flowName] = { ...(await resourcesOf(flowName)), kib }
}
console.log(JSON.stringify(costs))
`

/** One thread: otherwise it depends on other processes when V8 has compiled what, and so how much that allocates. */
const flags = ['--predictable', '--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']

type Costs = { readonly promises: number; readonly timers: number; readonly kib: number }

const most: Readonly<Record<string, Costs>> = {
  logic: { promises: 41, timers: 1, kib: 26.5 },
  model: { promises: 54, timers: 2, kib: 42.5 },
  tool: { promises: 74, timers: 4, kib: 61 },
}

test('a turn of each kind makes no more promises, timers and garbage than it did', () => {
  const folder = project('turn-costs', { 'count.mjs': program })
  const { failed, output } = run(folder, ...flags, 'count.mjs')
  expect({ failed, output }).toMatchObject({ failed: false })
  const costs = JSON.parse(output) as Record<string, Costs>
  expect(Object.keys(costs)).toEqual(Object.keys(most))
  for (const [kind, { promises, timers, kib }] of Object.entries(most)) {
    const cost = costs[kind] as Costs
    const isWithin = cost.promises <= promises && cost.timers <= timers && cost.kib <= kib
    expect({ kind, ...cost, isWithin }).toMatchObject({ isWithin: true })
  }
})
