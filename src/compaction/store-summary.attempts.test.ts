// A summary is a model call like any other: with retries, fallbacks, circuit breakers, budgets and usage.
import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft } from '../../testing/contract/engine-harness.js'
import type { FlowEngineOptions, ModelResponse } from '../index.js'
import { rollingSummary } from './index.js'

afterEach(expectNothingLeft)

const policy = rollingSummary({ above: 4, keep: 2, model: summaryModel })
const heading = 'Summary of the conversation so far:\n\n'
const summedUp = [`user: ${heading}done`, 'user: 3', 'assistant: Re: 3']

/** An HTTP error of a provider's client. */
function status(statusCode: number, retryAfterMs?: number): Error {
  const responseHeaders = retryAfterMs === undefined ? {} : { 'retry-after-ms': String(retryAfterMs) }
  return Object.assign(new Error(`status ${statusCode}`), { statusCode, responseHeaders })
}

/** Two turns; the next one makes the memory too long. The model then gives these answers, one after the other. */
async function ripe(
  acts: readonly (Error | ModelResponse)[],
  options: FlowEngineOptions & { readonly chat?: typeof policy } = {},
): Promise<Talk> {
  const { chat = policy, ...more } = options
  const talk = startTalk({ Chat: chat }, { random: () => 0.5, ...more })
  await talk.sayTurns(2)
  const left = [...acts]
  talk.answer = () => {
    const act = left.shift() ?? answerOf('done')
    if (act instanceof Error) throw act
    return act
  }
  talk.events.length = 0
  return talk
}

/** The events of the calls for summaries, in short. */
function callsOf(talk: Talk): string[] {
  return talk.events
    .filter(([name, { step }]) => name.startsWith('model:') && step === 'memory:Chat')
    .map(([name, { model, callNumber, attempt, delayMs, success, toModel }]) =>
      [name, toModel ?? model, callNumber, attempt, delayMs, success].filter((fact) => fact !== undefined).join(' '),
    )
}

const failed = (code: string) => [['memory:compaction-failed', { namespace: 'Chat', code }]]

describe('a summary whose call fails with a transient error', () => {
  test('is retried after a random delay, and its usage is counted', async () => {
    const talk = await ripe([status(503), status(529)])
    await talk.say('3')
    await talk.clock.advance(250)
    await talk.clock.advance(500)
    expect(await talk.memory()).toEqual(summedUp)
    expect(callsOf(talk)).toEqual([
      'model:start summarist 2 1',
      'model:end summarist 2 1 false',
      'model:retry summarist 2 250',
      'model:start summarist 2 2',
      'model:end summarist 2 2 false',
      'model:retry summarist 2 500',
      'model:start summarist 2 3',
      'model:end summarist 2 3 true',
    ])
    expect(talk.asked.map(({ origin }) => origin.attempt)).toEqual([1, 2, 3])
    expect((await talk.document(talk.sessionId)).usage).toEqual({ inputTokens: 106, outputTokens: 13, modelCalls: 6 })
  })

  test('is retried as often as modelRetry says, and no more', async () => {
    const talk = await ripe([status(503), status(503)], { modelRetry: { maxAttempts: 2, baseDelayMs: 0 } })
    await talk.say('3')
    await talk.clock.advance(0)
    await talk.clock.settle()
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect(talk.asked).toHaveLength(2)
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(5)
  })

  test('is not retried after its deadline', async () => {
    const talk = await ripe([status(429, 30_000)])
    await talk.sayTurns(1, 3)
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect(talk.asked).toHaveLength(1)
  })

  test('is aborted during a delay by an engine that closes, and leaves no timer', async () => {
    const talk = await ripe([status(429, 20_000)])
    await talk.say('3')
    await talk.clock.settle()
    const closing = talk.engine.close()
    await talk.clock.advance(10_000)
    await closing
    expect(talk.told()).toEqual(failed('ENGINE_CLOSED'))
    expect(talk.asked).toHaveLength(1)
  })

  test('is not retried if the answer is not usable', async () => {
    const talk = await ripe([answerOf('The user wa', 'length')])
    await talk.sayTurns(1, 3)
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect(talk.asked).toHaveLength(1)
  })

  test('is asked for again if the answer is empty, as often as any other', async () => {
    const talk = await ripe([answerOf(''), answerOf(' \n'), answerOf('')])
    await talk.sayTurns(1, 3)
    expect(talk.told()).toEqual(failed('MODEL_ERROR'))
    expect(talk.asked).toHaveLength(3)
  })
})

describe('a summary with fallback models', () => {
  const other = { provider: 'talk', name: 'summarist-2', params: { temperature: 0 } }
  const chat = rollingSummary({ above: 4, keep: 2, model: [summaryModel, other] })

  test('is written by the next model if one fails permanently', async () => {
    const talk = await ripe([status(401)], { chat })
    await talk.sayTurns(1, 3)
    expect(await talk.memory()).toEqual(summedUp)
    expect(callsOf(talk)).toEqual([
      'model:start summarist 2 1',
      'model:end summarist 2 1 false',
      'model:fallback summarist-2',
      'model:start summarist-2 2 1',
      'model:end summarist-2 2 1 true',
    ])
    expect(talk.asked.map(({ params }) => params)).toEqual([{}, { temperature: 0 }])
  })

  test('needs all of them registered when a session starts', async () => {
    const unknown = { provider: 'nobody', name: 'x' }
    const talk = startTalk({ Chat: rollingSummary({ above: 4, keep: 2, model: [summaryModel, unknown] }) })
    await expect(talk.say('1')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining("Model provider 'nobody' is not registered."),
    })
  })
})

describe('a summary is limited', () => {
  test('by the breaker of its provider, which it opens and closes like any call', async () => {
    const talk = await ripe([status(500)], {
      modelRetry: { maxAttempts: 1 },
      circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 60_000 },
    })
    await talk.sayTurns(1, 3)
    expect(talk.events.filter(([name]) => name.startsWith('circuit:')).map(([name]) => name)).toEqual([
      'circuit:opened',
    ])
    await expect(talk.say('4')).rejects.toMatchObject({ code: 'MODEL_ERROR' })
    expect(talk.asked).toHaveLength(1)
  })

  test('by the budget of the session', async () => {
    const talk = await ripe([], { budgets: { session: { modelCalls: 3 } } })
    await talk.sayTurns(1, 3)
    expect(talk.told()).toEqual(failed('BUDGET_EXCEEDED'))
    expect(talk.asked).toEqual([])
    expect((await talk.document(talk.sessionId)).usage.modelCalls).toBe(3)
  })

  test('by the budget of the turn that made the memory too long', async () => {
    const talk = await ripe([], { budgets: { turn: { modelCalls: 1 } } })
    await talk.sayTurns(1, 3)
    expect(talk.told()).toEqual(failed('BUDGET_EXCEEDED'))
    const enough = await ripe([], { budgets: { turn: { modelCalls: 2 } } })
    await enough.sayTurns(1, 3)
    expect(await enough.memory()).toEqual(summedUp)
  })

  test('by a budget with cost, which needs prices for its models, and its cost is counted', async () => {
    const prices = { input: 1_000_000, output: 0 }
    const talker = { provider: 'talk', name: 'talker', prices }
    const budgets = { session: { cost: 1_000 } }
    const without = startTalk({ Chat: policy }, { budgets, models: [talker] })
    await expect(without.say('1')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: "Model 'summarist' of provider 'talk' has no prices in the catalog, which a budget with cost needs.",
    })
    const talk = await ripe([], { budgets, models: [talker, { ...summaryModel, prices }] })
    await talk.sayTurns(1, 3)
    expect((await talk.document(talk.sessionId)).usage.cost).toBe(106)
  })

  test('but not by maxModelCallsPerTurn: its calls are not calls of the turn', async () => {
    const talk = await ripe([], { limits: { maxModelCallsPerTurn: 1 } })
    await talk.sayTurns(1, 3)
    expect(await talk.memory()).toEqual(summedUp)
  })
})
