import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft, flowOf, harness, never } from '../../../testing/contract/engine-harness.js'
import { scriptedProvider, VirtualClock } from '../../../testing/index.js'
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  go,
  LogicStep,
  MemorySessionStore,
  reply,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

const off = Number.POSITIVE_INFINITY

const talk = (): FlowConstructor => flowOf('Talk')

/** Steps that go round in a circle until they have gone `message` times. */
function circle(): FlowConstructor {
  let gone = 0
  class A extends LogicStep {
    static override readonly id: string = 'A'
    override run(turn: { message: string; entered: boolean }): Transition {
      if (turn.message === 'start') return reply('started')
      return gone++ < Number(turn.message) ? go('B') : reply('there')
    }
  }
  class B extends A {
    static override readonly id: string = 'B'
    override run(turn: { message: string; entered: boolean }): Transition {
      return gone++ < Number(turn.message) ? go('A') : reply('there')
    }
  }
  return class extends Flow {
    static override readonly id: string = 'Circle'
    override steps(): readonly StepConstructor[] {
      return [A, B]
    }
    override init(): void {
      gone = 0
    }
  }
}

/** A model step with a tool. */
function modelFlow(execute: () => unknown): FlowConstructor {
  class Ask extends Step {
    static override readonly id = 'Ask'
    override prompt(): string {
      return 'Ask.'
    }
    override tools(): readonly Tool[] {
      return [tool({ name: 'look', description: 'Look.', execute })]
    }
  }
  return class extends Flow {
    static override readonly id: string = 'Model'
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
    override model() {
      return { provider: 'scripted', name: 'model' }
    }
  }
}

describe('the limits of an engine', () => {
  test('have the documented defaults', () => {
    expect(harness().engine.limits).toEqual({
      maxModelCallsPerTurn: 16,
      maxToolCallsPerTurn: 64,
      maxToolResultBytes: 262_144,
      maxTransitionsPerTurn: 32,
      turnTimeoutMs: 120_000,
      modelTimeoutMs: 60_000,
      toolTimeoutMs: 30_000,
      maxConcurrentTurns: 10_000,
      maxConcurrentTurnsPerOwner: 1_000,
      maxQueuedTurnsPerSession: 32,
      maxMessageBytes: 262_144,
      maxAttachmentBytes: 1_048_576,
      maxConfigBytes: 65_536,
      maxJsonDepth: 64,
      maxHistoryTurns: 500,
      maxHistoryBytes: 1_048_576,
      maxMemoryBytes: 262_144,
      attachmentTurns: 2,
      maxSessionBytes: 4_194_304,
      maxReceipts: 16,
      maxEffects: 64,
      maxEffectBytes: 4_096,
      storeTimeoutMs: 5_000,
      closeTimeoutMs: 10_000,
    })
  })

  test('a bad one is refused where the engine is made', async () => {
    expect(() => new FlowEngine({ limits: { turnTimeoutMs: 0 } })).toThrow(
      'FlowEngine: limits.turnTimeoutMs must be a number above 0, or Infinity for no bound; got 0.',
    )
    await expect(FlowEngine.create({ limits: { turnTimeoutMs: -1 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe('maxTransitionsPerTurn', () => {
  test('ends an endless cycle of steps, and the session is aborted', async () => {
    const { engine, start, document } = harness({ flows: [circle()] })
    const session = await start('Circle')
    const { response, error } = await engine.execute({
      flowName: 'Circle',
      userMessage: 'Infinity',
      sessionId: session,
    })
    const sentence = `The number of moves in one turn (the last one from 'A' to 'B') exceeds the limit maxTransitionsPerTurn (32).`
    expect(response).toEqual({ success: false, completed: true, message: sentence, session, contentType: 'text/plain' })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxTransitionsPerTurn', value: 32 })
    expect(await document(session)).toMatchObject({ runStatus: 'aborted', error: [sentence] })
  })

  test.each([
    [3, 3, true],
    [3, 4, false],
    [off, 1000, true],
  ])('a limit of %d and %d moves', async (maxTransitionsPerTurn, moves, success) => {
    const { engine } = harness({ flows: [circle()], limits: { maxTransitionsPerTurn } })
    const response = await engine.run({ flowName: 'Circle', userMessage: String(moves) })
    expect(response.success).toBe(success)
  })
})

describe('maxModelCallsPerTurn', () => {
  test('ends an endless loop of tool calls, and what was spent is kept', async () => {
    const usage = { inputTokens: 10, outputTokens: 1 }
    const provider = scriptedProvider(() => ({ toolCalls: [{ name: 'look' }], usage }))
    const { engine, document } = harness({ flows: [modelFlow(() => 'seen')], providers: [provider] })
    const { response, error } = await engine.execute({ flowName: 'Model', userMessage: 'hello' })
    const sentence = `The number of model calls in step 'Ask' exceeds the limit maxModelCallsPerTurn (16).`
    expect(response.message).toBe(sentence)
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxModelCallsPerTurn', value: 16 })
    expect(provider.requests).toHaveLength(16)
    expect(await document(response.session)).toMatchObject({
      runStatus: 'aborted',
      usage: { inputTokens: 160, outputTokens: 16, modelCalls: 16 },
      history: [],
      flow: { currentStep: null, memory: {}, steps: {} },
    })
  })

  test('the last call allowed may answer', async () => {
    const provider = scriptedProvider([{ toolCalls: [{ name: 'look' }] }, 'Seen.'])
    const { engine } = harness({
      flows: [modelFlow(() => 'seen')],
      providers: [provider],
      limits: { maxModelCallsPerTurn: 2 },
    })
    expect(await engine.run({ flowName: 'Model', userMessage: 'hello' })).toMatchObject({ message: 'Seen.' })
    provider.assertDone()
  })
})

test('toolTimeoutMs ends a tool that hangs, before the turn ends', async () => {
  const provider = scriptedProvider([{ toolCalls: [{ name: 'look' }] }])
  const { engine, clock } = harness({
    flows: [modelFlow(() => never())],
    providers: [provider],
    limits: { toolTimeoutMs: 200 },
  })
  const running = engine.execute({ flowName: 'Model', userMessage: 'hello' })
  await clock.advance(200)
  const { response, error } = await running
  expect(response.message).toBe(`The time of tool 'look' exceeds the limit toolTimeoutMs (200).`)
  expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'toolTimeoutMs', value: 200 })
})

describe('maxSessionBytes', () => {
  test('refuses what a turn adds; the session goes on, and the save of the error is exempt', async () => {
    const { engine, start, document } = harness({ flows: [talk()], limits: { maxSessionBytes: 2000 } })
    const session = await start('Talk')
    const say = (bytes: number) =>
      engine.execute({ flowName: 'Talk', userMessage: 'a'.repeat(bytes), sessionId: session })
    expect((await say(300)).response.success).toBe(true)
    expect((await say(300)).response.success).toBe(true)
    const before = await document(session)
    const { response, error } = await say(1000)
    const sentence = `The session exceeds the limit maxSessionBytes (2000).`
    expect(response).toEqual({ success: false, completed: true, message: sentence, session, contentType: 'text/plain' })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxSessionBytes', value: 2000 })
    expect(await document(session)).toEqual({ ...before, error: [sentence], revision: expect.stringMatching(/^4-/) })
    expect((await say(300)).response).toMatchObject({ success: true, session })
    expect(await document(session)).toMatchObject({ runStatus: 'running', turns: 4, error: [sentence] })
  })

  test('removes the oldest turns first, so that a session of small turns goes on for ever', async () => {
    const { engine, start, document } = harness({ flows: [talk()], limits: { maxSessionBytes: 2000 } })
    const session = await start('Talk')
    const input = { flowName: 'Talk', userMessage: 'a'.repeat(300), sessionId: session }
    for (let turn = 2; turn <= 20; turn++) {
      expect((await engine.run(input)).success, `turn ${turn}`).toBe(true)
      const { history, turns } = await document(session)
      expect([turns, history.at(-1)?.turn]).toEqual([turn, turn])
      expect(JSON.stringify(history).length).toBeLessThan(2000)
    }
    expect((await document(session)).history.map(({ turn }) => turn)).not.toContain(1)
  })

  test('counts a state, too', async () => {
    const flow = flowOf('Talk', (turn, step) => {
      step.state.text = 'a'.repeat(Number(turn.message))
      return reply('ok')
    })
    const { engine } = harness({ flows: [flow], limits: { maxSessionBytes: 2000 } })
    expect((await engine.run({ flowName: 'Talk', userMessage: '1000' })).success).toBe(true)
    expect((await engine.run({ flowName: 'Talk', userMessage: '2000' })).success).toBe(false)
  })

  test('counts a context, too', async () => {
    const { engine } = harness({ flows: [talk()], limits: { maxSessionBytes: 2000 } })
    const config = { text: 'a'.repeat(2000) }
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', config })).success).toBe(false)
  })
})

test('storeTimeoutMs is the time of one store operation', async () => {
  const { engine, clock, store } = harness({ flows: [talk()], limits: { storeTimeoutMs: 50 } })
  store.hangNext('load')
  const running = engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: 'given' })
  await clock.advance(50)
  expect((await running).error?.cause).toMatchObject({
    message: `A store operation exceeds the limit storeTimeoutMs (50).`,
  })
})

test('with every limit off no timer is set', async () => {
  const provider = scriptedProvider([{ toolCalls: [{ name: 'look' }] }, 'Seen.'])
  const clock = new VirtualClock()
  const setTimer = vi.spyOn(clock, 'setTimer')
  const limits = {
    turnTimeoutMs: off,
    modelTimeoutMs: off,
    toolTimeoutMs: off,
    storeTimeoutMs: off,
    closeTimeoutMs: off,
  }
  const engine = new FlowEngine({
    flows: [modelFlow(() => 'seen')],
    providers: [provider],
    sessionStore: new MemorySessionStore(),
    clock,
    limits,
  })
  const { session, success } = await engine.run({ flowName: 'Model', userMessage: 'hello' })
  expect(success).toBe(true)
  await engine.deleteSession(session)
  await engine.close()
  expect(setTimer).not.toHaveBeenCalled()
})
