// What the attempts of a call report: their content only if it is listened to and not masked, and their cost.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { type Act, Chat, fails, hello, modelHarness, says, status } from '../../../testing/contract/model-harness.js'
import { TurnTimeoutError } from '../../errors/engine-errors.js'
import { type FlowEngineOptions, type Model, ModelError } from '../../index.js'

afterEach(expectNothingLeft)

const priced: Model = { provider: 'own', name: 'small', prices: { input: 1_000_000, output: 2_000_000 } }

function listening(acts: readonly Act[], options: FlowEngineOptions = {}) {
  const made = modelHarness({ 'own/small': acts }, { flows: [Chat], ...options })
  const contents: unknown[] = []
  made.engine.on('model:content', (event) => contents.push(event))
  return { ...made, contents, run: () => made.clock.runUntil(made.engine.execute(hello)) }
}

describe('model:content', () => {
  test('has what each attempt asked and what it was answered: nothing, if it failed', async () => {
    const { contents, run } = listening([status(500), 'Hi.'])
    await run()
    const names = { step: 'Talk', provider: 'own', model: 'small', callNumber: 1 }
    const asked = { ...names, system: undefined, messages: [expect.objectContaining({ role: 'user' })] }
    expect(contents).toEqual([
      expect.objectContaining({ ...asked, attempt: 1, answer: [] }),
      expect.objectContaining({ ...asked, attempt: 2, answer: [{ type: 'text', text: 'Hi.' }] }),
    ])
  })

  test('is not reported beside a mask: what a model was asked is masked only where it is stored', async () => {
    const { contents, run } = listening(['Hi.'], { mask: () => '***' })
    await run()
    expect(contents).toEqual([])
  })
})

describe('model:end', () => {
  const costs = async (models: readonly Model[]) => {
    const { events, run } = listening([says('Hi.', { inputTokens: 3, outputTokens: 1 })], { models })
    await run()
    return events.filter(([name]) => name === 'model:end').map(([, event]) => event)
  }

  test('has the cost of a model with prices', async () => {
    expect(await costs([priced])).toEqual([expect.objectContaining({ success: true, cost: 5 })])
  })

  test('has none without prices', async () => {
    const [event] = await costs([{ provider: 'own', name: 'small' }])
    expect(Object.keys(event as object)).not.toContain('cost')
  })
})

test('what an owner may spend counts with the prices of the model', async () => {
  const budgets = { owner: { cost: 5, windowMs: 1_000 } }
  const { engine } = modelHarness(
    { 'own/small': [says('Hi.', { inputTokens: 3, outputTokens: 1 }), 'Hi again.'] },
    { flows: [Chat], models: [priced], budgets },
  )
  await engine.run({ ...hello, owner: 'alice' })
  expect((await engine.execute({ ...hello, owner: 'alice' })).error).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    amount: 'cost',
    spent: 5,
  })
})

describe('an error of the engine that a provider throws, with a transient cause', () => {
  const cause = Object.assign(new Error('cut'), { isRetryable: true })

  test.each([
    ['a model error is an attempt', new ModelError({ provider: 'own', model: 'small', cause }), 2],
    ['another code ends the call', new TurnTimeoutError({ timeoutMs: 5, phase: 'turn', cause }), 1],
  ])('%s', async (_what, thrown, attempts) => {
    const { calls, run } = listening([fails(thrown), 'Hi.'])
    await run()
    expect(calls()).toHaveLength(attempts)
  })
})
