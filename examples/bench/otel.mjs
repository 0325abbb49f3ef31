/**
 * The cost of observability: the same turns on an engine without listeners, on one whose instrumentation was stopped,
 * on one with `turnkeeper/otel` but no SDK, and on one with OpenTelemetry's SDK, whose spans go to a batch that is
 * never sent. Short batches alternate; the figure is processor time. `bare` is an engine without listeners, followed
 * after each turn by as many spans and metrics made with the SDK alone: the part that no listener could save. Then the
 * same with a model that takes its time, and many sessions at once.
 */
import { setImmediate as nextTask, setTimeout as sleep } from 'node:timers/promises'
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { instrumentEngine } from 'turnkeeper/otel'
import { bench, median } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { answer, converse, turnsPerConversation, userMessage } from './work.mjs'

const conversationsPerBatch = 5
const batches = 200
const modelMs = 50
const sessionsAtOnce = 100
const slowBatches = 15

class ManualReader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}

const nowhere = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {}, forceFlush: async () => {} }

const newSdk = () => ({
  tracerProvider: new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }),
  meterProvider: new MeterProvider({ readers: [new ManualReader()] }),
})

const slowModel = {
  provider: 'bench',
  name: 'instant',
  async generate() {
    await sleep(modelMs)
    return { parts: [{ type: 'text', text: answer }] }
  },
}
const slow = { providers: [{ provider: 'bench', resolve: () => slowModel }] }

function instrumented(options, providers) {
  const system = createTurnkeeper(false, options)
  instrumentEngine(system.engine, providers)
  return system
}

const systems = {
  plain: () => createTurnkeeper(),
  stopped() {
    const system = createTurnkeeper()
    instrumentEngine(system.engine)()
    return system
  },
  withoutSdk: () => instrumented({}, {}),
  withSdk: () => instrumented({}, newSdk()),
  bare() {
    const system = createTurnkeeper()
    const observe = bareTurn(newSdk())
    return {
      start() {
        const conversation = system.start()
        return async (message) => {
          await conversation(message)
          observe()
        }
      },
    }
  },
}

const slowSystems = {
  plain: () => createTurnkeeper(false, slow),
  withSdk: () => instrumented(slow, newSdk()),
}

/** The spans and records that a turn of {@link converse} gets, with as many attributes. */
function bareTurn({ tracerProvider, meterProvider }) {
  const tracer = tracerProvider.getTracer('bench')
  const meter = meterProvider.getMeter('bench')
  const counter = meter.createCounter('turns')
  const histogram = meter.createHistogram('duration')
  const child = (parent, attributes) => tracer.startSpan('a span of a turn', { attributes }, parent)
  return () => {
    const turn = child(ROOT_CONTEXT, {
      'a.operation': 'x',
      'a.turn': 'x',
      'a.flow': 'x',
      'a.session': 'x',
      'a.end': true,
    })
    const ofTurn = trace.setSpan(ROOT_CONTEXT, turn)
    child(ofTurn, { 'a.operation': 'load', 'a.session': 'x' }).end()
    for (const step of ['one', 'two']) {
      const open = child(ofTurn, { 'a.step': step })
      trace.setSpan(ofTurn, open)
      open.end()
    }
    const call = { 'a.operation': 'x', 'a.session': 'x', 'a.provider': 'x', 'a.model': 'x', 'a.step': 'x', 'a.call': 1 }
    child(ofTurn, { ...call, 'a.attempt': 1, 'a.input': 0, 'a.output': 0 }).end()
    child(ofTurn, { 'a.operation': 'save', 'a.session': 'x' }).end()
    turn.end()
    counter.add(1, { 'a.flow': 'x', 'a.outcome': 'success' })
    histogram.record(1, { 'a.flow': 'x', 'a.outcome': 'success' })
    histogram.record(1, { 'a.operation': 'chat', 'a.provider': 'x', 'a.model': 'x' })
    histogram.record(1, { 'a.operation': 'load' })
    histogram.record(1, { 'a.operation': 'save' })
  }
}

bench({
  url: import.meta.url,
  title: 'otel: microseconds of processor time of one turn, memory store',
  async once() {
    const figures = await measure(systems, batches, timeOfTurn, 100)
    const slowFigures = await measure(slowSystems, slowBatches, timeOfSlowTurn, 10)
    const over = (name) => figures[name] / figures.plain
    return {
      ...figures,
      stoppedRatio: over('stopped'),
      withoutSdkRatio: over('withoutSdk'),
      withSdkRatio: over('withSdk'),
      bareRatio: over('bare'),
      ownRatio: 1 + (figures.withSdk - figures.bare) / figures.plain,
      slowPlain: slowFigures.plain,
      slowRatio: slowFigures.withSdk / slowFigures.plain,
      slowTimeRatio: slowFigures.withSdkTime / slowFigures.plainTime,
    }
  },
  rows: [
    { label: 'no listeners', figure: 'plain', unit: 'us' },
    { label: 'instrumentation stopped, over no listeners', figure: 'stoppedRatio', unit: 'x', target: 1.01 },
    { label: 'turnkeeper/otel without an SDK, over no listeners', figure: 'withoutSdkRatio', unit: 'x' },
    { label: 'turnkeeper/otel and the SDK, over no listeners', figure: 'withSdkRatio', unit: 'x', target: 1.3 },
    { label: 'the same spans and metrics by the bare SDK', figure: 'bareRatio', unit: 'x' },
    { label: 'what turnkeeper/otel adds to the bare SDK', figure: 'ownRatio', unit: 'x', target: 1.3 },
    {
      label: `model of ${modelMs} ms, ${sessionsAtOnce} sessions at once: no listeners`,
      figure: 'slowPlain',
      unit: 'us',
    },
    { label: 'turnkeeper/otel and the SDK, processor time', figure: 'slowRatio', unit: 'x', target: 1.3 },
    {
      label: 'turnkeeper/otel and the SDK, time until all have replies',
      figure: 'slowTimeRatio',
      unit: 'x',
      target: 1.3,
    },
  ],
})

/** The median processor time of a turn by system, and with `Time` at its name the median of the time that passed. */
async function measure(kinds, rounds, run, warmUps) {
  const made = Object.entries(kinds).map(([name, create]) => ({ name, system: create(), used: [], passed: [] }))
  for (const { system } of made) for (let count = 0; count < warmUps; count++) await run(system)
  for (let round = 0; round < rounds; round++) {
    for (const { system, used, passed } of made) {
      const start = performance.now()
      const before = process.cpuUsage()
      const turns = await run(system)
      const { user, system: kernel } = process.cpuUsage(before)
      used.push((user + kernel) / turns)
      passed.push(performance.now() - start)
      // Spans are exported here, as in an application whose turns wait for a model.
      await nextTask()
    }
  }
  return Object.fromEntries(
    made.flatMap(({ name, used, passed }) => [
      [name, median(used)],
      [`${name}Time`, median(passed)],
    ]),
  )
}

async function timeOfTurn(system) {
  await converse(system, conversationsPerBatch)
  return conversationsPerBatch * turnsPerConversation
}

async function timeOfSlowTurn(system) {
  const sessions = Array.from({ length: sessionsAtOnce }, () => system.start())
  for (let turn = 1; turn <= 3; turn++) await Promise.all(sessions.map((say) => say(userMessage(turn))))
  return sessionsAtOnce * 3
}
