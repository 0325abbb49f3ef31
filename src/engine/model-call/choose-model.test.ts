// A list of models, of which each stands in for the one before it.
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { namesOf } from '../../../testing/contract/event-recorder.js'
import {
  type Acts,
  calls,
  chatOf,
  chatOn,
  hello,
  modelHarness,
  status,
  Talk,
  toolThat,
} from '../../../testing/contract/model-harness.js'
import { Flow, type FlowEngineOptions, type ModelChoice } from '../../index.js'

afterEach(expectNothingLeft)

const Two = chatOn('own/small', 'other/large')

async function turnOf(acts: Acts, options: FlowEngineOptions = {}) {
  const made = modelHarness(acts, { flows: [Two], ...options })
  const result = await made.clock.runUntil(made.engine.execute(hello))
  return { ...made, ...result }
}

describe('a model that fails', () => {
  test('for good is followed by the next one, after all its attempts', async () => {
    const acts = { 'own/small': [status(500), status(500), status(500)], 'other/large': ['Hi.'] }
    const { response, calls: made, events } = await turnOf(acts)
    expect(response.message).toBe('Hi.')
    expect(made()).toEqual(['own/small 1.1 at 0', 'own/small 1.2 at 0', 'own/small 1.3 at 0', 'other/large 1.1 at 0'])
    const fallbacks = events.filter(([name]) => name === 'model:fallback')
    expect(fallbacks).toMatchObject([
      ['model:fallback', { step: 'Talk', provider: 'own', model: 'small', toProvider: 'other', toModel: 'large' }],
    ])
  })

  test.each<[string, Acts['x'] & object]>([
    ['with 400', [status(400)]],
    ['with an answer that is malformed', [() => ({})]],
    ['and asks for more time than the turn has', [status(429, { 'retry-after': '3600' })]],
  ])('%s is followed by the next one at once', async (_name, acts) => {
    const { response, calls: made } = await turnOf({ 'own/small': acts, 'other/large': ['Hi.'] })
    expect([response.message, made()]).toEqual(['Hi.', ['own/small 1.1 at 0', 'other/large 1.1 at 0']])
  })

  test('is the last one: the turn fails with its failure', async () => {
    const { error, events } = await turnOf({ 'own/small': [status(400)], 'other/large': [status(401)] })
    expect(error).toMatchObject({ code: 'MODEL_ERROR', provider: 'other', model: 'large', cause: { statusCode: 401 } })
    expect(namesOf(events).filter((name) => name === 'model:fallback')).toHaveLength(1)
  })

  test('is asked again first at the next call of the turn', async () => {
    class Working extends Talk {
      override tools() {
        return [toolThat('book', () => 'Booked.')]
      }
    }
    class Chat extends Two {
      override steps() {
        return [Working]
      }
    }
    const acts = { 'own/small': [status(400), 'Done.'], 'other/large': [calls('book')] }
    const { calls: made } = await turnOf(acts, { flows: [Chat] })
    expect(made()).toEqual(['own/small 1.1 at 0', 'other/large 1.1 at 0', 'own/small 2.1 at 0'])
  })
})

test('a refusal is not followed by another model', async () => {
  const { error, asked } = await turnOf({
    'own/small': [() => ({ parts: [], finishReason: 'content-filter' })],
    'other/large': ['Hi.'],
  })
  expect([error?.code, asked.length]).toEqual(['MODEL_BLOCKED', 1])
})

test('the session keeps which model answered', async () => {
  const { document, response } = await turnOf({ 'own/small': [status(400)], 'other/large': ['Hi.'] })
  expect((await document(response.session)).flow.steps.Talk?.model).toEqual({ provider: 'other', name: 'large' })
})

test("of a list each model gets its own parameters, laid over those that the flow's list has for it", async () => {
  class Tuned extends Talk {
    override model(): ModelChoice {
      return [
        { provider: 'own', name: 'small', params: { temperature: 0 } },
        { provider: 'other', name: 'large' },
        { provider: 'third', name: 'new', params: { seed: 1 } },
      ]
    }
  }
  class Chat extends Flow {
    static override readonly id = 'Chat'
    override model(): ModelChoice {
      return [
        { provider: 'other', name: 'large', params: { topP: 1 } },
        { provider: 'own', name: 'small', params: { temperature: 1, topK: 5 } },
      ]
    }
    override steps() {
      return [Tuned]
    }
  }
  const acts = { 'own/small': [status(400)], 'other/large': [status(400)], 'third/new': ['Hi.'] }
  const { asked } = await turnOf(acts, { flows: [Chat] })
  expect(asked.map(({ request }) => request.params)).toEqual([{ temperature: 0, topK: 5 }, { topP: 1 }, { seed: 1 }])
})

describe('at session start', () => {
  const refused = async (choice: unknown, options: FlowEngineOptions = {}): Promise<string> => {
    class Chat extends chatOf(Talk) {
      override model() {
        return choice as ModelChoice
      }
    }
    const { error, response, asked, store } = await turnOf({ 'own/small': ['Hi.'] }, { flows: [Chat], ...options })
    expect([asked.length, store.journal.length, error?.code]).toEqual([0, 0, 'INVALID_INPUT'])
    return response.message
  }

  test('an empty list is refused', async () => {
    expect(await refused([])).toBe("model() of flow 'Chat' returned an empty list.")
  })

  test.each([null, undefined, 'own/small', {}, []])('%j in a list is refused', async (bad) => {
    expect(await refused([{ provider: 'own', name: 'small' }, bad])).toBe(
      "model() of flow 'Chat' must return { provider, name, params? } with two strings.",
    )
  })

  test.each([null, 'own/small', 5])('%j in place of a list is refused', async (bad) => {
    expect(await refused(bad)).toBe("model() of flow 'Chat' must return { provider, name, params? } with two strings.")
  })

  test('the last of a list is checked like the first', async () => {
    const choice = [
      { provider: 'own', name: 'small' },
      { provider: 'nobody', name: 'x' },
    ]
    expect(await refused(choice)).toBe(
      "Model provider 'nobody' is not registered. Registered: 'own'. Pass it to the engine as providers: [...].",
    )
    const params = [
      { provider: 'own', name: 'small' },
      { provider: 'own', name: 'strict', params: { heat: 1 } },
    ]
    const strict = { provider: 'own', name: 'strict', params: z.strictObject({}) }
    expect(await refused(params, { models: [strict] })).toBe(
      "The parameters of model 'strict' of provider 'own' are not valid: Unrecognized key: \"heat\".",
    )
  })
})
