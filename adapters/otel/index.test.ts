import { type TracerProvider, trace } from '@opentelemetry/api'
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, test } from 'vitest'
import { FlowEngine, reply, type Tool } from '../../src/index.js'
import { expectNothingLeft, flowOf, gate, harness } from '../../testing/contract/engine-harness.js'
import { calls, chatOf, hello, modelHarness, status, Talk, toolThat } from '../../testing/contract/model-harness.js'
import { telemetry } from '../../testing/contract/otel-harness.js'
import { instrumentEngine } from './index.js'

afterEach(expectNothingLeft)

class Tooled extends Talk {
  override tools(): readonly Tool[] {
    return [toolThat('look', () => 'Found.')]
  }
}

describe('the metrics', () => {
  test('count turns, failures by code, tokens, cost and time', async () => {
    const usage = { inputTokens: 100, outputTokens: 20 }
    const answer = () => ({ parts: [{ type: 'text', text: 'Here.' }], usage })
    const talk = modelHarness(
      { 'own/small': [answer, answer, status(400)] },
      {
        flows: [chatOf(Talk)],
        models: [{ provider: 'own', name: 'small', prices: { input: 1, output: 10 } }],
      },
    )
    const sdk = telemetry()
    instrumentEngine(talk.engine, sdk.providers)
    for (let turn = 0; turn < 3; turn++) await talk.engine.run(hello)
    const model = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'own', 'gen_ai.request.model': 'small' }
    const flow = { 'gen_ai.workflow.name': 'Chat' }
    const points = await sdk.points()
    expect(points).toEqual(
      expect.arrayContaining([
        ['turnkeeper.turns', { ...flow, 'turnkeeper.turn.outcome': 'success' }, 2],
        ['turnkeeper.turns', { ...flow, 'turnkeeper.turn.outcome': 'failure' }, 1],
        ['turnkeeper.turn.failures', { ...flow, 'error.type': 'MODEL_ERROR' }, 1],
        ['turnkeeper.turn.duration', { ...flow, 'turnkeeper.turn.outcome': 'success' }, 0],
        ['gen_ai.client.token.usage', { ...model, 'gen_ai.token.type': 'input' }, 200],
        ['gen_ai.client.token.usage', { ...model, 'gen_ai.token.type': 'output' }, 40],
        ['gen_ai.client.operation.duration', { ...model, 'error.type': 'MODEL_ERROR' }, 0],
        ['turnkeeper.store.duration', { 'turnkeeper.store.operation': 'create' }, 0],
      ]),
    )
    const cost = points.find(([name]) => name === 'turnkeeper.model.cost')
    expect(cost?.[1]).toEqual(model)
    expect(cost?.[2]).toBeCloseTo((2 * (100 * 1 + 20 * 10)) / 1e6)
  })

  test('have waits, refusals and conflicts', async () => {
    const hold = gate()
    const slow = flowOf('Talk', async (turn) => {
      if (turn.message === 'hold') await hold.opened
      return reply('Yes.')
    })
    const made = harness({ flows: [slow], limits: { maxQueuedTurnsPerSession: 1 } })
    const sessionId = await made.start('Talk')
    const sdk = telemetry()
    instrumentEngine(made.engine, sdk.providers)
    const run = (userMessage: string) => made.engine.run({ flowName: 'Talk', userMessage, sessionId })
    const running = [run('hold'), run('next'), run('refused')]
    await made.clock.advance(2000)
    await made.rewrite(sessionId, (document) => {
      document.revision = '9-other'
    })
    hold.open()
    await Promise.all(running)
    const flow = { 'gen_ai.workflow.name': 'Talk' }
    expect(await sdk.points()).toEqual(
      expect.arrayContaining([
        ['turnkeeper.turns', { ...flow, 'turnkeeper.turn.outcome': 'refused' }, 1],
        ['turnkeeper.turn.failures', { ...flow, 'error.type': 'LIMIT_EXCEEDED' }, 1],
        ['turnkeeper.turn.failures', { ...flow, 'error.type': 'SESSION_CONFLICT' }, 1],
        ['turnkeeper.session.conflicts', flow, 1],
        ['turnkeeper.turn.wait', flow, 2],
      ]),
    )
  })
})

describe('a tracer that throws', () => {
  const broken = (): never => {
    throw new Error('The exporter broke.')
  }
  const processor = (part: Partial<SpanProcessor>): SpanProcessor => ({
    onStart: () => undefined,
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
    ...part,
  })

  test.each([
    ['when a span starts', { onStart: broken }],
    ['when a span ends', { onEnd: broken }],
  ])('%s is reported, and changes no turn', async (_, part) => {
    const errors: unknown[] = []
    const talk = modelHarness(
      { 'own/small': [calls('look'), 'Here.', status(400)] },
      { flows: [chatOf(Tooled)], onListenerError: (error) => errors.push(error) },
    )
    const sdk = telemetry(processor(part))
    instrumentEngine(talk.engine, sdk.providers)
    expect(await talk.engine.run(hello)).toMatchObject({ success: true, message: 'Here.' })
    expect(await talk.engine.run(hello)).toMatchObject({ success: false })
    expect(errors.length).toBeGreaterThan(5)
    expect(new Set(errors.map(String))).toEqual(new Set(['Error: The exporter broke.']))
    if (!('onStart' in part)) expect(sdk.open()).toBe(0)
  })
})

describe('instrumentEngine', () => {
  test('does nothing without an SDK, and stops when it is stopped', async () => {
    const made = harness({ flows: [flowOf('Talk')] })
    const stop = instrumentEngine(made.engine)
    await made.start('Talk')
    stop()
    const sdk = telemetry()
    instrumentEngine(made.engine, sdk.providers)()
    await made.start('Talk')
    expect(sdk.spans()).toEqual([])
    expect(trace.getActiveSpan()).toBeUndefined()
  })

  test('refuses unknown options', () => {
    const engine = new FlowEngine()
    expect(() => instrumentEngine(engine, { text: true } as never)).toThrow(
      "instrumentEngine: there is no option 'text'. The options are tracerProvider, meterProvider, errorText, content.",
    )
    expect(() => instrumentEngine(engine, { errorText: 1 } as never)).toThrow(
      'instrumentEngine: errorText must be true or false.',
    )
    expect(() => instrumentEngine(engine, { content: 'all' } as never)).toThrow(
      'instrumentEngine: content must be true or false.',
    )
    expect(() => instrumentEngine(engine, { tracerProvider: {} } as never)).toThrow(
      'instrumentEngine: tracerProvider must have the method getTracer.',
    )
    expect(() => instrumentEngine(engine, { meterProvider: null } as never)).toThrow(
      'instrumentEngine: meterProvider must have the method getMeter.',
    )
  })

  test('refuses an argument that is not an engine', () => {
    expect(() => instrumentEngine(FlowEngine.create({}) as never)).toThrow(
      'instrumentEngine: the first argument must be a FlowEngine; got a promise: await FlowEngine.create().',
    )
    expect(() => instrumentEngine(undefined as never)).toThrow(
      'instrumentEngine: the first argument must be a FlowEngine.',
    )
  })
})

describe('one half alone', () => {
  test('is made if the other is false, so that two instrumentations make nothing twice', async () => {
    const { engine } = harness({ flows: [flowOf('Talk', () => reply('Yes.'))] })
    const [traces, page] = [telemetry(), telemetry()]
    instrumentEngine(engine, { ...traces.providers, meterProvider: false })
    const stop = instrumentEngine(engine, { ...page.providers, tracerProvider: false })
    await engine.run({ flowName: 'Talk', userMessage: 'Hello' })
    expect(traces.tree()).toEqual(['invoke_workflow Talk', '  step Only', '  store create'])
    expect(await traces.points()).toEqual([])
    expect(page.spans()).toEqual([])
    expect((await page.points()).find(([name]) => name === 'turnkeeper.turns')?.[2]).toBe(1)
    stop()
    await engine.run({ flowName: 'Talk', userMessage: 'Hello' })
    expect((await page.points()).find(([name]) => name === 'turnkeeper.turns')?.[2]).toBe(1)
  })
})

describe('no span stays open', () => {
  /** A tracer whose spans have methods that throw, and the number of its spans that are still open. */
  function faulty(throwing: readonly string[]) {
    let open = 0
    const tracerProvider: TracerProvider = {
      getTracer: () => ({
        startSpan(name, options) {
          if (throwing.includes(name)) throw new Error('The tracer broke.')
          open++
          const span = trace.getTracer('none').startSpan(name, options)
          const fail = (): never => {
            throw new Error('The span broke.')
          }
          const broken = Object.fromEntries(throwing.map((method) => [method, fail]))
          return Object.assign(span, broken, { end: () => void open-- })
        },
        startActiveSpan: () => {
          throw new Error('It must not be called.')
        },
      }),
    }
    return { tracerProvider, open: () => open }
  }

  test.each([['setAttribute'], ['setAttributes'], ['setStatus'], ['invoke_workflow Chat']])(
    'of a tracer whose %s throws',
    async (throwing) => {
      const sdk = faulty([throwing])
      const errors: unknown[] = []
      const talk = modelHarness(
        { 'own/small': [calls('look'), 'Here.', status(400)] },
        { flows: [chatOf(Tooled)], onListenerError: (error) => errors.push(error) },
      )
      instrumentEngine(talk.engine, { tracerProvider: sdk.tracerProvider, meterProvider: false })
      const { success, session: sessionId } = await talk.engine.run(hello)
      expect([success, sdk.open()]).toEqual([true, 0])
      expect((await talk.engine.run({ ...hello, sessionId })).success).toBe(false)
      expect(sdk.open()).toBe(0)
      expect(errors).not.toEqual([])
    },
  )

  test('of a turn that had begun before the instrumentation and is cancelled', async () => {
    const sdk = telemetry()
    const asked = gate()
    const waits = () => {
      asked.open()
      return new Promise<never>(() => undefined)
    }
    class Begun extends Talk {
      override tools(): readonly Tool[] {
        return [
          toolThat('look', () => {
            instrumentEngine(talk.engine, sdk.providers)
            return 'Found.'
          }),
        ]
      }
    }
    const talk = modelHarness({ 'own/small': [calls('look'), waits] }, { flows: [chatOf(Begun)] })
    const controller = new AbortController()
    const running = talk.engine.run({ ...hello, signal: controller.signal })
    await asked.opened
    expect(sdk.open()).toBe(1)
    controller.abort()
    expect((await running).success).toBe(false)
    expect(sdk.open()).toBe(0)
  })
})
