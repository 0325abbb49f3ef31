import { describe, expect, test } from 'vitest'
import type { ResolvedModelSelection } from './model-provider.js'
import { resolveSelection, withoutCredentials } from './model-selection.js'

function select(name: string, params: ResolvedModelSelection['params'] = {}): ResolvedModelSelection {
  return { provider: 'cloud', name, params }
}

describe('completing a selection', () => {
  const flow = { provider: 'cloud', name: 'large', params: { temperature: 0, seed: 7 } }

  test.each([
    ['no parameters at all', { provider: 'cloud', name: 'large' }, [], {}],
    ["the flow's, for the same model", { provider: 'cloud', name: 'large' }, flow, { temperature: 0, seed: 7 }],
    [
      "its own over the flow's",
      { provider: 'cloud', name: 'large', params: { temperature: 1 } },
      flow,
      { temperature: 1, seed: 7 },
    ],
    [
      'its own alone, for another model',
      { provider: 'cloud', name: 'small', params: { temperature: 1 } },
      flow,
      { temperature: 1 },
    ],
    [
      'its own alone, for another provider',
      { provider: 'local', name: 'large', params: { temperature: 1 } },
      flow,
      { temperature: 1 },
    ],
    ['none, for another model', { provider: 'cloud', name: 'small' }, flow, {}],
  ])('gives it %s', (_which, selection, base, params) => {
    const { provider: providerName, name } = selection
    expect(resolveSelection(selection, [base].flat(), 'model()')).toEqual({
      provider: providerName,
      name,
      params,
    })
  })

  test('copies the parameters', () => {
    const params = { stop: ['a'] }
    const completed = resolveSelection({ provider: 'cloud', name: 'small', params }, [], 'model()')
    params.stop.push('b')
    expect(completed.params).toEqual({ stop: ['a'] })
  })

  test.each([undefined, null, 'small', { provider: 'cloud' }, { name: 'small' }, { provider: 7, name: 'small' }])(
    'refuses %j',
    (selection) => {
      expect(() => resolveSelection(selection as never, [], "model() of step 'Ask'")).toThrow(
        expect.objectContaining({
          code: 'INVALID_INPUT',
          message: "model() of step 'Ask' must return { provider, name, params? } with two strings.",
        }),
      )
    },
  )

  test('refuses parameters that JSON cannot carry', () => {
    const selection = { provider: 'cloud', name: 'small', params: { when: new Date(0) as never } }
    expect(() => resolveSelection(selection, [], "model() of step 'Ask'")).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message:
          "model() of step 'Ask' returned parameters that are not valid: params.when is an instance of Date, which JSON cannot carry: use date.toISOString().",
      }),
    )
  })
})

describe('a selection in a document', () => {
  test('has no parameters that are named like a credential, at any depth', () => {
    const hidden = {
      apiKey: 'x',
      api_key: 'x',
      'X-API-Key': 'x',
      token: 'x',
      accessToken: 'x',
      secretAccessKey: 'x',
      clientSecret: 'x',
      password: 'x',
      Authorization: 'x',
      credentials: 'x',
      privateKey: 'x',
    }
    const kept = { maxTokens: 100, temperature: 0, stop: ['a'], tokenizer: 'b', key: 'c', empty: null }
    const selection = select('small', {
      ...hidden,
      ...kept,
      list: [{ ...hidden, a: 1 }],
      deep: { er: { ...hidden, b: 2 } },
    })
    expect(withoutCredentials(selection)).toEqual({
      provider: 'cloud',
      name: 'small',
      params: { ...kept, list: [{ a: 1 }], deep: { er: { b: 2 } } },
    })
  })

  test('has no params if there are none', () => {
    const selection = resolveSelection({ provider: 'cloud', name: 'small' }, [], 'model()')
    expect(withoutCredentials(selection)).toEqual({ provider: 'cloud', name: 'small' })
  })

  test('is a copy: the selection is not changed', () => {
    const selection = select('small', { apiKey: 'x' })
    withoutCredentials(selection)
    expect(selection.params).toEqual({ apiKey: 'x' })
  })
})
