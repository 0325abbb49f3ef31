import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import {
  EndStep,
  Flow,
  type FlowConstructor,
  type FlowRunInput,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

describe('the first turn', () => {
  test('[1-3 1-5 2.3-1 2.3-4 2.3-5 3-1] makes a session bound to the flow and answers with its ID', async () => {
    const { engine, backing, document } = harness({ flows: [talk()] })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(response).toEqual({
      success: true,
      completed: false,
      message: 'You said: hello',
      session: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
      contentType: 'text/plain',
    })
    expect([...backing.keys()]).toEqual([response.session])
    expect((await document(response.session)).flow.name).toBe('Talk')
  })

  test('[1-4 2.6-1 2.6-3 2.6-4] stores one document, whole', async () => {
    const { engine, document } = harness({ flows: [talk()], generateId: (kind) => `${kind}-1` })
    await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(await document('session-1')).toEqual({
      id: 'session-1',
      version: 2,
      revision: '1-revision-1',
      runStatus: 'running',
      createdAt: '2026-01-01T00:00:00.000Z',
      savedAt: '2026-01-01T00:00:00.000Z',
      error: [],
      usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
      turns: 1,
      bytes: expect.any(Number),
      flow: {
        name: 'Talk',
        version: 1,
        currentStep: 'Only',
        context: {},
        steps: { Only: { state: {} } },
        memory: {},
        sequence: [{ step: 'Only', level: 0 }],
      },
      history: [
        {
          turn: 1,
          id: 'turn-1',
          at: '2026-01-01T00:00:00.000Z',
          message: 'hello',
          reply: 'You said: hello',
          contentType: 'text/plain',
          step: 'Only',
        },
      ],
    })
  })

  test('[2.1-5 4.8-2] an absent and an empty session ID start new sessions, each under an ID of its own', async () => {
    const { engine, backing, store } = harness({ flows: [talk()] })
    const absent = await engine.run({ flowName: 'Talk', userMessage: 'a' })
    const empty = await engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: '' })
    const viaRunFlow = await engine.runFlow('Talk', 'c')
    const viaEmpty = await engine.runFlow('Talk', 'd', '')
    const sessions = [absent, empty, viaRunFlow, viaEmpty].map(({ session }) => session)
    expect(new Set(sessions).size).toBe(4)
    expect([...backing.keys()]).toEqual(sessions)
    expect(store.operations).toEqual(['create', 'create', 'create', 'create'])
  })

  test('[2.2-7 2.5-5] takes flowName and userMessage, and may take sessionId and config; HTTP names it message, not here', async () => {
    const { engine } = harness({ flows: [talk()] })
    const required: FlowRunInput = Object.freeze({ flowName: 'Talk', userMessage: 'one' })
    const first = await engine.run(required)
    expect(first).toMatchObject({ success: true, message: 'You said: one' })
    const whole: FlowRunInput = Object.freeze({
      ...required,
      sessionId: first.session,
      config: Object.freeze({ a: 1 }),
    })
    expect(await engine.run(whole)).toMatchObject({ success: true, session: first.session })
    const misnamed = { flowName: 'Talk', message: 'one' } as unknown as FlowRunInput
    expect(await engine.run(misnamed)).toMatchObject({
      success: false,
      message: expect.stringMatching(
        /^There is no field 'message' in the input of a turn\. The fields are .*userMessage/,
      ),
    })
  })

  test('an empty message is a message', async () => {
    const { engine } = harness({ flows: [talk()] })
    expect(await engine.run({ flowName: 'Talk', userMessage: '' })).toMatchObject({
      success: true,
      message: 'You said: ',
    })
  })
})

describe('later turns', () => {
  test('[1-6 2.1-1 3-2] continue the session they name', async () => {
    const { engine, clock, document, backing } = harness({ flows: [talk()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'one' })
    await clock.advance(1000)
    const second = await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId: session })
    expect(second).toEqual({
      success: true,
      completed: false,
      message: 'You said: two',
      session,
      contentType: 'text/plain',
    })
    const stored = await document(session)
    expect(stored.history.map(({ turn, message }) => [turn, message])).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
    expect(stored.revision).toMatch(/^2-/)
    expect(stored.createdAt).toBe('2026-01-01T00:00:00.000Z')
    expect(stored.savedAt).toBe('2026-01-01T00:00:01.000Z')
    expect(backing.size).toBe(1)
  })

  test('[4.5-3 3-2] a turn is saved once, by one swap on the revision that was loaded', async () => {
    const { engine, store } = harness({ flows: [talk()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'one' })
    await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId: session })
    expect(store.operations).toEqual(['create', 'load', 'save'])
    const [create, , save] = store.journal
    expect(save?.expectedRevision).toBe(create?.revision)
    expect(save?.revision).not.toBe(create?.revision)
  })

  test('no reply leaves before its turn is durable', async () => {
    const { engine, store, clock, backing } = harness({ flows: [talk()] })
    store.delayNext('create', 100)
    let answered = false
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello' }).then((response) => {
      answered = true
      return response
    })
    await clock.advance(99)
    expect([answered, backing.size]).toEqual([false, 0])
    await clock.advance(1)
    expect([answered, backing.size]).toEqual([true, 1])
    expect((await running).success).toBe(true)
  })
})

describe('several steps', () => {
  class Ask extends LogicStep<{ colour?: string }> {
    static override readonly id = 'Ask'
    override run(turn: Turn): Transition {
      if (turn.entered) return reply('Which colour?')
      this.state.colour = turn.message
      return go(Confirm)
    }
  }
  class Confirm extends LogicStep {
    static override readonly id = 'Confirm'
    override run(turn: Turn): Transition {
      if (turn.entered) return reply(`${turn.stateOf(Ask).colour}, then?`)
      return turn.message === 'yes' ? finish() : go(Ask)
    }
  }
  class Closing extends EndStep {
    static override readonly id = 'Closing'
    override message(turn: Turn): string {
      return `It is ${turn.stateOf(Ask).colour}.`
    }
  }
  class Paint extends Flow {
    static override readonly id: string = 'Paint'
    override steps(): readonly StepConstructor[] {
      return [Ask, Confirm, Closing]
    }
  }

  test('[1-1 1-2 1-3 2.3-2] a whole conversation', async () => {
    const { engine, document } = harness({ flows: [Paint] })
    let session = ''
    const say = async (userMessage: string): Promise<readonly [string, boolean]> => {
      const response = await engine.run({ flowName: 'Paint', userMessage, sessionId: session })
      session = response.session
      return [response.message, response.completed]
    }
    expect(await say('hello')).toEqual(['Which colour?', false])
    expect(await say('red')).toEqual(['red, then?', false])
    expect(await say('no')).toEqual(['Which colour?', false])
    expect(await say('blue')).toEqual(['blue, then?', false])
    expect(await say('yes')).toEqual(['It is blue.', true])
    const stored = await document(session)
    expect(stored).toMatchObject({ runStatus: 'completed', flow: { currentStep: 'Closing' } })
    expect(stored.flow.steps.Ask).toEqual({ state: { colour: 'blue' } })
    expect(stored.history.map(({ step }) => step)).toEqual(['Ask', 'Confirm', 'Ask', 'Confirm', 'Closing'])
  })
})
