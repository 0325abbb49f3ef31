import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { namesOf, recorded } from '../../../testing/contract/event-recorder.js'
import { scriptedProvider } from '../../../testing/index.js'
import {
  Flow,
  go,
  LogicStep,
  retry,
  Step,
  type StepConstructor,
  type Tool,
  type Transition,
  type Turn,
  tool,
} from '../../index.js'

afterEach(expectNothingLeft)

const at = Date.UTC(2026, 0, 1)

/** A logic step that leads to a model step with a tool. */
class Welcome extends LogicStep {
  static override readonly id = 'Welcome'
  override run(): Transition {
    return go(Ask)
  }
}

class Ask extends Step {
  static override readonly id = 'Ask'
  override prompt(): string {
    return 'A secret prompt.'
  }
  override tools(): readonly Tool[] {
    return [tool({ name: 'look', description: 'Look.', execute: () => 'a secret result' })]
  }
  override onReply(text: string, _turn: Turn): string | Transition {
    return text === 'a secret first try' ? retry('a secret reason') : text
  }
}

class Modelled extends Flow {
  static override readonly id = 'Modelled'
  override steps(): readonly StepConstructor[] {
    return [Welcome, Ask]
  }
  override model() {
    return { provider: 'scripted', name: 'small', params: { apiKey: 'a secret key' } }
  }
}

describe('the events of steps, models and tools', () => {
  async function modelled() {
    const made = recorded([Modelled])
    const usage = { inputTokens: 5, outputTokens: 2 }
    const provider = scriptedProvider([
      { toolCalls: [{ name: 'look', input: { secret: 'a secret argument' } }], usage },
      'a secret first try',
      'a secret answer',
    ])
    made.engine.registerProvider(provider)
    const response = await made.engine.run({
      flowName: 'Modelled',
      userMessage: 'a secret message',
      config: { word: 'a secret config' },
    })
    expect(response.message).toBe('a secret answer')
    return made
  }

  test('in their order, with their payloads', async () => {
    const { events } = await modelled()
    const of = { sessionId: 'session-1', flowName: 'Modelled', turnId: 'turn-1', at }
    const model = { ...of, step: 'Ask', provider: 'scripted', model: 'small' }
    const none = { durationMs: 0, inputTokens: 0, outputTokens: 0 }
    const called = { ...of, step: 'Ask', tool: 'look', toolCallId: 'call-1' }
    expect(events.slice(1, -2)).toEqual([
      ['step:enter', { ...of, step: 'Welcome' }],
      ['step:exit', { ...of, step: 'Welcome' }],
      ['step:enter', { ...of, step: 'Ask' }],
      ['model:start', { ...model, callNumber: 1, attempt: 1 }],
      [
        'model:end',
        { ...model, callNumber: 1, attempt: 1, durationMs: 0, success: true, inputTokens: 5, outputTokens: 2 },
      ],
      ['tool:start', called],
      ['tool:end', { ...called, durationMs: 0, success: true }],
      ['model:start', { ...model, callNumber: 2, attempt: 1 }],
      ['model:end', { ...model, callNumber: 2, attempt: 1, success: true, ...none }],
      ['model:retry', { ...model, callNumber: 2, reason: 'reply', delayMs: 0 }],
      ['model:start', { ...model, callNumber: 3, attempt: 1 }],
      ['model:end', { ...model, callNumber: 3, attempt: 1, success: true, ...none }],
    ])
  })

  test('no payload holds a text of the conversation', async () => {
    const { events, engine, store } = await modelled()
    store.failNext('save', { times: 3, error: new Error('a secret host') })
    await engine.run({ flowName: 'Modelled', userMessage: 'a secret message', sessionId: 'session-1' })
    expect(namesOf(events)).toContain('turn:error')
    expect(JSON.stringify(events)).not.toContain('secret')
  })

  test('every payload is frozen, flat, and says whose it is and when', async () => {
    const { events } = await modelled()
    expect(events.length).toBeGreaterThan(10)
    for (const [, payload] of events) {
      expect(Object.isFrozen(payload)).toBe(true)
      expect(payload).toMatchObject({
        sessionId: expect.any(String),
        flowName: 'Modelled',
        turnId: 'turn-1',
        at: expect.any(Number),
      })
      expect(Object.values(payload).filter((value) => typeof value === 'object')).toEqual([])
    }
  })

  test('a model that fails has ended, without success', async () => {
    const made = recorded([Modelled])
    made.engine.registerProvider(scriptedProvider([new Error('a secret failure')]))
    await made.engine.run({ flowName: 'Modelled', userMessage: 'hello' })
    expect(namesOf(made.events).slice(-5)).toEqual([
      'model:start',
      'model:end',
      'turn:error',
      'session:aborted',
      'turn:end',
    ])
    expect(made.events.at(-4)?.[1]).toMatchObject({ success: false, inputTokens: 0, outputTokens: 0 })
    expect(made.events.at(-3)?.[1]).toMatchObject({ code: 'MODEL_ERROR' })
  })
})
