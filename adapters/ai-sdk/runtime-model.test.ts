import { describe, expect, test } from 'vitest'
import type { RuntimeModel } from '../../src/index.js'
import { all, ControlledStream, hello, modelOf, open, request } from '../../testing/contract/ai-sdk-streams.js'
import { aiSdkProvider } from './index.js'
import type { CallOptions } from './language-model.js'

describe('a model without doStream', () => {
  test('has no stream', () => {
    expect('stream' in modelOf(undefined)).toBe(false)
  })
})

describe('a call without a stream', () => {
  function failing(work: (options: CallOptions) => Promise<never>): RuntimeModel {
    const model = { specificationVersion: 'v3', provider: 'own', modelId: 'small', doGenerate: work }
    const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
    return provider.resolve({ provider: 'own', name: 'small', params: {} })
  }

  test('that was aborted fails with the reason, even if the package throws something else', async () => {
    const turn = new AbortController()
    const reason = new Error('The turn was aborted.')
    const model = failing(async () => {
      turn.abort(reason)
      throw new Error('Failed to process the response.')
    })
    await expect(model.generate(request({ signal: turn.signal }))).rejects.toBe(reason)
  })

  test('whose answer could not be read to its end is retryable', async () => {
    const broken = Object.assign(new Error('Failed.', { cause: new TypeError('network error') }), {
      statusCode: 200,
      isRetryable: false,
    })
    await expect(failing(() => Promise.reject(broken)).generate(request())).rejects.toMatchObject({
      message: "The answer of model 'small' of provider 'own' was cut off.",
      isRetryable: true,
      cause: broken,
    })
  })
})

test('a call without a stream that reports an interruption was cut off', async () => {
  const content = [{ type: 'text', text: 'It is' }]
  const model = {
    specificationVersion: 'v4',
    provider: 'own',
    modelId: 'small',
    doGenerate: async () => ({ content, finishReason: { unified: 'interrupted', raw: undefined }, usage: {} }),
  }
  const provider = aiSdkProvider({ provider: 'own', languageModel: () => model })
  const { generate } = provider.resolve({ provider: 'own', name: 'small', params: {} })
  await expect(generate(request())).rejects.toMatchObject({ isRetryable: true })
})

describe('a call with a stream', () => {
  test('calls the model with the options of a call without one, when the first part is asked for', async () => {
    const calls: CallOptions[] = []
    const output = { name: 'order', schema: { type: 'object' } }
    const model = modelOf(async (options) => {
      calls.push(options)
      return new ControlledStream(hello)
    })
    const reading = open(model, { system: 'Be kind.', output })
    expect(calls).toEqual([])
    await reading.next()
    expect(calls).toEqual([
      {
        temperature: 0,
        prompt: [{ role: 'system', content: 'Be kind.' }],
        abortSignal: expect.any(AbortSignal),
        includeRawChunks: true,
        responseFormat: { type: 'json', ...output },
      },
    ])
  })

  test('calls doStream as a method of the model', async () => {
    class Own {
      readonly specificationVersion = 'v3'
      readonly provider = 'own'
      readonly modelId = 'small'
      readonly #parts = hello
      async doGenerate(): Promise<undefined> {
        return undefined
      }
      async doStream(): Promise<ControlledStream> {
        return new ControlledStream(this.#parts)
      }
    }
    const provider = aiSdkProvider({ provider: 'own', languageModel: () => new Own() })
    expect(await all(open(provider.resolve({ provider: 'own', name: 'small', params: {} })))).toHaveLength(3)
  })
})
