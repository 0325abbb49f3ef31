/**
 * Time of a streamed turn of 1 000 deltas, compared with reading the same model stream directly; and the memory that 10
 * 000 streamed turns leave behind. The target is for a model of a provider's real package, whose server answers at once
 * from memory. The other two streams cost next to nothing by themselves: they show what a delta costs in the engine.
 * Single turns of both alternate, so that other work of the machine affects both.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Flow, FlowEngine, MemorySessionStore, Step } from 'turnkeeper'
import { aiSdkProvider } from 'turnkeeper/ai-sdk'
import { bench, heapInUse, median } from './harness.mjs'

const deltas = 1_000
const warmUps = 50
const rounds = 200
const roundsOfPackage = 50
const turnsBeforeHeap = 10_000
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
    return {
      ...(await comparePackage()),
      ...(await compareOwn('generator', generate)),
      ...(await compareOwn('readable', read)),
      ...(await keep()),
    }
  },
  rows: [
    { label: "a provider's package: read bare", figure: 'packageBare', unit: 'us' },
    { label: "a provider's package: Turnkeeper", figure: 'packageOurs', unit: 'us' },
    { label: "a provider's package: Turnkeeper over bare", figure: 'packageRatio', unit: 'x', target: 1.5 },
    { label: 'async generator: read bare', figure: 'generatorBare', unit: 'us' },
    { label: 'async generator: Turnkeeper', figure: 'generatorOurs', unit: 'us' },
    { label: 'async generator: Turnkeeper over bare', figure: 'generatorRatio', unit: 'x' },
    { label: 'ReadableStream: read bare', figure: 'readableBare', unit: 'us' },
    { label: 'ReadableStream: Turnkeeper', figure: 'readableOurs', unit: 'us' },
    { label: 'ReadableStream: Turnkeeper over bare', figure: 'readableRatio', unit: 'x' },
    {
      label: `heap after ${turnsOfHeap} streamed turns, ended sessions deleted`,
      figure: 'keptKiB',
      unit: 'KiB',
      target: 512,
    },
  ],
})

/** As your own provider would write it. */
async function* generate(count) {
  for (let sent = 0; sent < count; sent++) yield delta
  yield finishOf(count)
}

/** As the packages of the AI SDK produce it. */
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

/** A model of the package, over a server that has the whole answer in memory. */
function createPackageModel() {
  const encoder = new TextEncoder()
  const frame = (choice) =>
    encoder.encode(`data: ${JSON.stringify({ id: '1', choices: [{ index: 0, ...choice }] })}\n\n`)
  const frames = Array.from({ length: deltas }, () => frame({ delta: { content: delta.text } }))
  frames.push(frame({ delta: {}, finish_reason: 'stop' }), encoder.encode('data: [DONE]\n\n'))
  async function fetch() {
    let sent = 0
    const body = new ReadableStream({
      pull: (controller) => (sent < frames.length ? controller.enqueue(frames[sent++]) : controller.close()),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return createOpenAICompatible({ name: 'bench', baseURL: 'https://bench.example/v1', fetch })
}

function createEngine(provider) {
  return new FlowEngine({ flows: [Chat], providers: [provider], sessionStore: new MemorySessionStore() })
}

function createOwnProvider(stream, count) {
  const model = { provider: 'bench', name: 'words', generate: () => Promise.reject(new Error('not streamed')) }
  return { provider: 'bench', resolve: () => ({ ...model, stream: () => stream(count) }) }
}

async function streamTurn(engine) {
  let text = ''
  for await (const event of engine.stream({ flowName: Chat.id, userMessage: 'Go on.' })) {
    if (event.type === 'text-delta') text += event.text
    else if (event.type === 'result' && event.response.message === text) return event.response.session
  }
  throw new Error('The turn ended without its result.')
}

async function readBare(stream, textOf) {
  let text = ''
  for await (const part of stream) if (part.type === 'text-delta') text += textOf(part)
  if (text.length !== delta.text.length * deltas) throw new Error('The stream ended too early.')
}

async function comparePackage() {
  const languageModel = createPackageModel()
  const engine = createEngine(aiSdkProvider({ provider: 'bench', languageModel }))
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Go on.' }] }]
  return compare('package', engine, roundsOfPackage, async () => {
    const { stream } = await languageModel('words').doStream({ prompt })
    await readBare(stream, (part) => part.delta)
  })
}

function compareOwn(name, stream) {
  const engine = createEngine(createOwnProvider(stream, deltas))
  return compare(name, engine, rounds, () => readBare(stream(deltas), (part) => part.text))
}

async function compare(name, engine, count, read) {
  const systems = [() => streamTurn(engine), read]
  const times = systems.map(() => [])
  for (let round = -warmUps; round < count; round++) {
    for (const [index, run] of systems.entries()) {
      const start = performance.now()
      await run()
      if (round >= 0) times[index].push((performance.now() - start) * 1000)
    }
  }
  await engine.close()
  const [ours, bare] = times.map(median)
  return { [`${name}Ours`]: ours, [`${name}Bare`]: bare, [`${name}Ratio`]: ours / bare }
}

async function keep() {
  const engine = createEngine(createOwnProvider(generate, 10))
  const run = async (turns) => {
    for (let turn = 0; turn < turns; turn++) await engine.deleteSession(await streamTurn(engine))
  }
  await run(turnsBeforeHeap)
  const before = await heapInUse()
  await run(turnsOfHeap)
  return { keptKiB: ((await heapInUse()) - before) / 1024 }
}
