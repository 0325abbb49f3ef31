/**
 * Time of a streamed turn of 1 000 deltas, over reading the same stream of the model with nothing in between; and what
 * 10 000 streamed turns leave in memory. Short batches of both take turns, so that what else the machine does meets both.
 */
import { Flow, FlowEngine, MemorySessionStore, Step } from 'turnkeeper'
import { bench, heapInUse, median } from './harness.mjs'

const deltas = 1_000
const batches = 200
const turnsBeforeHeap = 1_000
const turnsOfHeap = 10_000
const delta = { type: 'text-delta', text: 'word ' }

class Talk extends Step {
  static id = 'Talk'
}

class Chat extends Flow {
  static id = 'Chat'
  model() {
    return { provider: 'bench', name: 'words' }
  }
  steps() {
    return [Talk]
  }
}

bench({
  url: import.meta.url,
  title: `stream: a streamed turn of ${deltas} deltas, memory store`,
  async once() {
    return { ...(await compare('generator', generate)), ...(await compare('readable', read)), ...(await keep()) }
  },
  rows: [
    { label: 'async generator: read bare', figure: 'generatorBare', unit: 'us' },
    { label: 'async generator: Turnkeeper', figure: 'generatorOurs', unit: 'us' },
    { label: 'async generator: Turnkeeper over bare', figure: 'generatorRatio', unit: 'x', target: 1.5 },
    { label: 'ReadableStream: read bare', figure: 'readableBare', unit: 'us' },
    { label: 'ReadableStream: Turnkeeper', figure: 'readableOurs', unit: 'us' },
    { label: 'ReadableStream: Turnkeeper over bare', figure: 'readableRatio', unit: 'x', target: 1.5 },
    {
      label: `heap after ${turnsOfHeap} streamed turns, ended sessions deleted`,
      figure: 'keptKiB',
      unit: 'KiB',
      target: 512,
    },
  ],
})

/** As a provider of one's own would write it. */
async function* generate(count) {
  for (let sent = 0; sent < count; sent++) yield delta
  yield finishOf(count)
}

/** As the packages of the AI SDK give it. */
function read(count) {
  let sent = 0
  return new ReadableStream({
    pull(controller) {
      if (sent++ < count) return controller.enqueue(delta)
      controller.enqueue(finishOf(count))
      controller.close()
    },
  })
}

function finishOf(count) {
  return { type: 'finish', response: { parts: [{ type: 'text', text: delta.text.repeat(count) }] } }
}

function createEngine(stream, count) {
  const model = { provider: 'bench', name: 'words', generate: () => Promise.reject(new Error('not streamed')) }
  const provider = { provider: 'bench', resolve: () => ({ ...model, stream: () => stream(count) }) }
  return new FlowEngine({ flows: [Chat], providers: [provider], sessionStore: new MemorySessionStore() })
}

async function streamTurn(engine) {
  let text = ''
  for await (const event of engine.stream({ flowName: Chat.id, userMessage: 'Go on.' })) {
    if (event.type === 'text-delta') text += event.text
    else if (event.type === 'result' && event.response.message === text) return event.response.session
  }
  throw new Error('The turn ended without its result.')
}

async function readBare(stream) {
  let text = ''
  for await (const part of stream(deltas)) {
    if (part.type === 'text-delta') text += part.text
    else if (part.response.parts[0].text === text) return
  }
  throw new Error('The stream ended without its end.')
}

async function compare(name, stream) {
  const engine = createEngine(stream, deltas)
  const systems = [() => streamTurn(engine), () => readBare(stream)]
  const times = systems.map(() => [])
  for (let batch = -50; batch < batches; batch++) {
    for (const [index, run] of systems.entries()) {
      const start = performance.now()
      await run()
      if (batch >= 0) times[index].push((performance.now() - start) * 1000)
    }
  }
  await engine.close()
  const [ours, bare] = times.map(median)
  return { [`${name}Ours`]: ours, [`${name}Bare`]: bare, [`${name}Ratio`]: ours / bare }
}

async function keep() {
  const engine = createEngine(generate, 10)
  const run = async (turns) => {
    for (let turn = 0; turn < turns; turn++) await engine.deleteSession(await streamTurn(engine))
  }
  await run(turnsBeforeHeap)
  const before = await heapInUse()
  await run(turnsOfHeap)
  return { keptKiB: ((await heapInUse()) - before) / 1024 }
}
