import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { afterEach, describe, expect, test } from 'vitest'
import { type FlowEngineOptions, finish, reply, type Tool, ToolError } from '../../src/index.js'
import { expectNothingLeft, flowOf, gate, type Harness, harness } from '../../testing/contract/engine-harness.js'
import {
  type Acts,
  Chat,
  calls,
  chatOf,
  hello,
  modelHarness,
  silent,
  status,
  Talk,
  toolThat,
} from '../../testing/contract/model-harness.js'
import { type Telemetry, telemetry } from '../../testing/contract/otel-harness.js'
import { instrumentEngine } from './index.js'

let made: Telemetry | undefined

afterEach(() => {
  expectNothingLeft()
  expect(made?.open()).toBe(0)
  context.disable()
})

/** The spans of an engine. */
function spansOf({ engine }: Harness): Telemetry {
  const sdk = telemetry()
  made = sdk
  instrumentEngine(engine, sdk.providers)
  return sdk
}

class Tooled extends Talk {
  override tools(): readonly Tool[] {
    return [toolThat('look', () => 'Found.')]
  }
}

function talkTo(acts: Acts, options: FlowEngineOptions = {}) {
  const talk = modelHarness(acts, { flows: [chatOf(Tooled)], ...options })
  return { ...talk, sdk: spansOf(talk) }
}

describe('the spans of a turn', () => {
  test('of a first one with tools, and of a later one', async () => {
    const { engine, sdk } = talkTo({ 'own/small': [calls('look'), 'Here.', 'Again.'] })
    const { session: sessionId } = await engine.run(hello)
    await engine.run({ ...hello, sessionId })
    expect(sdk.tree()).toEqual([
      'invoke_workflow Chat',
      '  step Talk',
      '    chat small',
      '    execute_tool look',
      '    chat small',
      '  store create',
      'invoke_workflow Chat',
      '  store load',
      '  step Talk',
      '    chat small',
      '  store save',
    ])
    for (const span of sdk.spans()) {
      if (!span.name.startsWith('step ')) expect(span.attributes['gen_ai.conversation.id']).toBe(sessionId)
    }
  })

  test('have the attributes of the conventions', async () => {
    const usage = { inputTokens: 12, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 2 }
    const answer = () => ({ parts: [{ type: 'text', text: 'Here.' }], usage })
    const models = [{ provider: 'own', name: 'small', prices: { input: 1, output: 10 } }]
    const { engine, sdk } = talkTo({ 'own/small': [calls('look'), answer] }, { models: models as never })
    const { session } = await engine.run({ ...hello, requestId: 'request-1' })
    const id = { 'gen_ai.conversation.id': session }
    expect(sdk.span('invoke_workflow Chat').attributes).toEqual({
      ...id,
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'Chat',
      'turnkeeper.turn.id': expect.any(String),
      'turnkeeper.request.id': 'request-1',
      'turnkeeper.turn.completed': false,
    })
    expect(sdk.spans().findLast(({ name }) => name === 'chat small')?.attributes).toEqual({
      ...id,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'own',
      'gen_ai.request.model': 'small',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'turnkeeper.model.cost': expect.any(Number),
      'turnkeeper.step': 'Talk',
      'turnkeeper.model.call': 2,
      'turnkeeper.model.attempt': 1,
    })
    expect(sdk.span('execute_tool look').attributes).toEqual({
      ...id,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
      'turnkeeper.step': 'Talk',
    })
    expect(sdk.span('store create').attributes).toEqual({ ...id, 'turnkeeper.store.operation': 'create' })
  })

  test('each model attempt has its own span', async () => {
    const { engine, sdk, clock } = talkTo({ 'own/small': [status(503), 'Here.'] })
    const running = engine.run(hello)
    await clock.advance(10_000)
    await running
    expect(sdk.tree()).toEqual([
      'invoke_workflow Chat',
      '  step Talk',
      '    chat small ! MODEL_ERROR',
      '    chat small',
      '  store create',
    ])
  })

  test('a tool call that takes too long has the code of its limit, and a refused one TOOL_ERROR', async () => {
    class Slow extends Talk {
      override toolTimeoutMs = 1000
      override tools(): readonly Tool[] {
        const refuse = (): never => {
          throw new ToolError('No.')
        }
        return [toolThat('refuse', refuse), toolThat('wait', () => new Promise(() => undefined))]
      }
    }
    const talk = modelHarness({ 'own/small': [calls('refuse'), calls('wait')] }, { flows: [chatOf(Slow)] })
    const sdk = spansOf(talk)
    const running = talk.engine.run(hello)
    await talk.clock.advance(1500)
    await running
    expect(sdk.tree()).toEqual([
      'invoke_workflow Chat ! LIMIT_EXCEEDED',
      '  step Talk ! LIMIT_EXCEEDED',
      '    chat small',
      '    execute_tool refuse ! TOOL_ERROR',
      '    chat small',
      '    execute_tool wait ! LIMIT_EXCEEDED',
      '  store create',
    ])
  })

  test('a turn that fails has the code of its error', async () => {
    const { engine, sdk } = talkTo({ 'own/small': [status(400)] })
    await engine.run(hello)
    expect(sdk.tree()).toEqual([
      'invoke_workflow Chat ! MODEL_ERROR',
      '  step Talk ! MODEL_ERROR',
      '    chat small ! MODEL_ERROR',
      '  store create',
    ])
    expect(sdk.span('invoke_workflow Chat').status).toEqual({ code: 2 })
  })

  test('a step that is left ends there', async () => {
    const made = harness({ flows: [flowOf('Talk', () => finish('Bye.'))] })
    const sdk = spansOf(made)
    await made.engine.run({ flowName: 'Talk', userMessage: 'Hello' })
    expect(sdk.tree()).toEqual(['invoke_workflow Talk', '  step Only', '  step End', '  store create'])
    expect(sdk.span('invoke_workflow Talk').attributes['turnkeeper.turn.completed']).toBe(true)
  })

  test('a conflict', async () => {
    const made = harness({ flows: [flowOf('Talk')] })
    const sessionId = await made.start('Talk')
    const sdk = spansOf(made)
    const save = made.store.save.bind(made.store)
    made.store.save = async (...args) => {
      await made.rewrite(sessionId, (document) => {
        document.revision = '9-other'
      })
      return save(...args)
    }
    await made.engine.run({ flowName: 'Talk', userMessage: 'Hello', sessionId })
    expect(sdk.tree()).toEqual([
      'invoke_workflow Talk ! SESSION_CONFLICT',
      '  store load',
      '  step Only ! SESSION_CONFLICT',
      '  store save ! SESSION_CONFLICT',
      // The read of the current session for the reply, after the turn.
      'store load',
    ])
  })

  test('a stream', async () => {
    const { engine, sdk } = talkTo({ 'own/small': ['Here.'] })
    for await (const _ of engine.stream(hello));
    expect(sdk.tree()).toEqual(['invoke_workflow Chat', '  step Talk', '    chat small', '  store create'])
  })

  test('a flow that is not registered gets no name', async () => {
    const { engine, sdk } = talkTo({})
    await engine.run({ flowName: 'Nobody', userMessage: 'Hello' })
    expect(sdk.tree()).toEqual(['invoke_workflow ! FLOW_NOT_FOUND'])
  })
})

describe('other ends of a turn', () => {
  test('a cancelled turn ends what was open in it', async () => {
    const { engine, sdk } = talkTo({ 'own/small': ['One.', silent] })
    const { session: sessionId } = await engine.run(hello)
    const running = engine.run({ ...hello, sessionId })
    await new Promise((resolve) => engine.once('model:start', resolve))
    expect(await engine.cancel(sessionId)).toBe(true)
    await running
    expect(sdk.tree().slice(4)).toEqual([
      'invoke_workflow Chat ! TURN_ABORTED',
      '  store load',
      '  step Talk ! TURN_ABORTED',
      '    chat small ! TURN_ABORTED',
    ])
  })

  test('a turn that waits has its wait within it, and one that stops waiting fails with it', async () => {
    const hold = gate()
    const slow = flowOf('Talk', async (turn) => {
      if (turn.message === 'hold') await hold.opened
      return reply('Yes.')
    })
    const made = harness({ flows: [slow] })
    const sessionId = await made.start('Talk')
    const sdk = spansOf(made)
    const one = made.engine.run({ flowName: 'Talk', userMessage: 'hold', sessionId })
    const two = made.engine.run({ flowName: 'Talk', userMessage: 'next', sessionId })
    const controller = new AbortController()
    const three = made.engine.run({ flowName: 'Talk', userMessage: 'no', sessionId, signal: controller.signal })
    await made.clock.advance(3000)
    controller.abort()
    await three
    hold.open()
    await Promise.all([one, two])
    expect(sdk.tree()).toEqual([
      'invoke_workflow Talk',
      '  store load',
      '  step Only',
      '  store save',
      'invoke_workflow Talk ! TURN_ABORTED',
      '  lock wait ! TURN_ABORTED',
      'invoke_workflow Talk',
      '  lock wait',
      '  store load',
      '  step Only',
      '  store save',
    ])
    const wait = sdk.spans().findLast(({ name }) => name === 'lock wait')
    expect(wait?.duration[0]).toBe(3)
  })

  test('two turns at once do not mix', async () => {
    const { engine, sdk } = talkTo({ 'own/small': ['One.', 'Two.'] })
    const both = await Promise.all([engine.run(hello), engine.run(hello)])
    expect(sdk.tree()).toEqual(
      both.flatMap(() => ['invoke_workflow Chat', '  step Talk', '    chat small', '  store create']),
    )
    for (const { session } of both) {
      const own = sdk.spans().filter(({ attributes }) => attributes['gen_ai.conversation.id'] === session)
      expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1)
      expect(own).toHaveLength(3)
    }
  })

  test('stopping the instrumentation ends the spans of an engine that is still open', async () => {
    const sdk = telemetry()
    made = sdk
    const talk = modelHarness({ 'own/small': [silent] }, { flows: [Chat] })
    const stop = instrumentEngine(talk.engine, sdk.providers)
    const controller = new AbortController()
    const running = talk.engine.run({ ...hello, signal: controller.signal })
    await new Promise((resolve) => talk.engine.once('model:start', resolve))
    expect(sdk.open()).toBe(3)
    stop()
    expect(sdk.open()).toBe(0)
    controller.abort()
    await running
    expect(sdk.spans()).toHaveLength(3)
  })

  test('a replayed request has no span', async () => {
    const { engine, sdk } = talkTo({ 'own/small': ['One.', 'Two.'] })
    const { session: sessionId } = await engine.run(hello)
    const keyed = { ...hello, sessionId, idempotencyKey: 'a-key-of-one-request' }
    await engine.run(keyed)
    const before = sdk.spans().filter(({ name }) => !name.startsWith('store')).length
    expect(await engine.execute(keyed)).toMatchObject({ replayed: true })
    expect(sdk.spans().filter(({ name }) => !name.startsWith('store'))).toHaveLength(before)
  })
})

describe('the parent of a turn', () => {
  const parentName = 'request'

  /** Runs `work` within a span of the application. */
  async function within<T>(sdk: Telemetry, work: () => Promise<T>): Promise<T> {
    const span = sdk.providers.tracerProvider.getTracer('application').startSpan(parentName, {}, ROOT_CONTEXT)
    const active: Context = trace.setSpan(ROOT_CONTEXT, span)
    try {
      return await context.with(active, work)
    } finally {
      span.end()
    }
  }

  test('is the span that was active at the call of the engine, even for turns that wait for each other', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const hold = gate()
    const slow = flowOf('Talk', async (turn) => {
      if (turn.message === 'hold') await hold.opened
      return reply('Yes.')
    })
    const made = harness({ flows: [slow] })
    const sessionId = await made.start('Talk')
    const sdk = spansOf(made)
    const run = (userMessage: string) => made.engine.run({ flowName: 'Talk', userMessage, sessionId })
    const one = within(sdk, () => run('hold'))
    const two = within(sdk, () => run('next'))
    await made.clock.advance(5)
    hold.open()
    await Promise.all([one, two])
    const turn = ['  invoke_workflow Talk', '    store load', '    step Only', '    store save']
    const waited = [turn[0], '    lock wait', ...turn.slice(1)]
    expect(sdk.tree()).toEqual([parentName, ...turn, parentName, ...waited])
  })

  test('is the span that was active at the first read of a stream', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const { engine, sdk } = talkTo({ 'own/small': ['Here.'] })
    await within(sdk, async () => {
      for await (const _ of engine.stream(hello));
    })
    expect(sdk.tree().slice(0, 2)).toEqual([parentName, '  invoke_workflow Chat'])
  })
})
