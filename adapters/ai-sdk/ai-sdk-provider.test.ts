import { describe, expect, test } from 'vitest'
import type { JsonObject, ModelProviderAdapter, ModelRequest } from '../../src/index.js'
import { type AiSdkLanguageModel, aiSdkProvider } from './index.js'
import type { CallOptions, GenerateResult } from './language-model.js'

const result: GenerateResult = { content: [{ type: 'text', text: 'Hello.' }], finishReason: 'stop', usage: {} }

/** A model that records the options it is called with. */
function modelOf(specificationVersion: string, calls: CallOptions[] = [], answer = result): AiSdkLanguageModel {
  return {
    specificationVersion,
    provider: 'own',
    modelId: 'small',
    doGenerate: async (options: CallOptions) => {
      calls.push(options)
      return answer
    },
  }
}

function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  const origin = { flowName: 'Desk', stepId: 'Ask', sessionId: '', turnNumber: 1, callNumber: 1, attempt: 1 }
  const { signal } = new AbortController()
  return { messages: [], tools: [], params: {}, origin, signal, ...fields }
}

const select = (params: JsonObject = {}, name = 'small') => ({ provider: 'own', name, params })
const provide = (model: unknown, models?: readonly string[]): ModelProviderAdapter =>
  aiSdkProvider({
    provider: 'own',
    languageModel: () => model as AiSdkLanguageModel,
    ...(models === undefined ? {} : { models }),
  })

describe('specification versions', () => {
  test.each(['v2', 'v3', 'v4'])('%s is supported', async (version) => {
    const provider = provide(modelOf(version))
    provider.validate?.(select())
    const { parts } = await provider.resolve(select()).generate(request())
    expect(parts).toEqual([{ type: 'text', text: 'Hello.' }])
  })

  const unsupported = "The model 'small' of provider 'own' has the specification version 'v1'. Supported: v2, v3, v4."
  const noModel =
    "languageModel must return an AI SDK language model for the model 'small' of provider 'own': specificationVersion or doGenerate is missing."

  test.each([
    ['an older version', modelOf('v1'), unsupported],
    ['undefined', undefined, noModel],
    ['the name of a model', 'openai/small', noModel],
    ['a model without doGenerate', { specificationVersion: 'v3' }, noModel],
  ])('%s is refused when a session starts', (_what, model, message) => {
    const provider = provide(model)
    const refusal = expect.objectContaining({ code: 'INVALID_INPUT', message })
    expect(() => provider.validate?.(select())).toThrow(refusal)
    expect(() => provider.resolve(select())).toThrow(refusal)
  })

  test('one of a listed model that is not supported is refused right away', () => {
    expect(() => provide(modelOf('v1'), ['small'])).toThrow(unsupported)
  })
})

describe('the list of models', () => {
  test('refuses any other name', () => {
    const provider = provide(modelOf('v3'), ['small', 'large'])
    expect(() => provider.validate?.(select())).not.toThrow()
    expect(() => provider.validate?.(select({}, 'huge'))).toThrow(
      "Provider 'own' has no model 'huge'. It has: 'small', 'large'.",
    )
    expect(() => provide(modelOf('v3'), []).validate?.(select())).toThrow('It has: none.')
  })

  test('is read once', () => {
    const models = ['small']
    const provider = provide(modelOf('v3'), models)
    models[0] = 'large'
    expect(() => provider.validate?.(select())).not.toThrow()
  })
})

test.each([
  [undefined, 'provider must be a non-blank string'],
  [{ languageModel: () => modelOf('v3') }, 'provider must be a non-blank string'],
  [{ provider: ' ', languageModel: () => modelOf('v3') }, 'provider must be a non-blank string'],
  [{ provider: 'own' }, 'languageModel must be a function that takes a name'],
  [{ provider: 'own', languageModel: modelOf('v3') }, 'languageModel must be a function that takes a name'],
  [{ provider: 'own', languageModel: () => modelOf('v3'), models: 'small' }, 'models must be an array of names'],
  [{ provider: 'own', languageModel: () => modelOf('v3'), models: [7] }, 'models must be an array of names'],
])('refuses invalid options: %j', (options, problem) => {
  expect(() => aiSdkProvider(options as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', message: `aiSdkProvider: ${problem}.` }),
  )
})

describe('parameters', () => {
  const everything = {
    temperature: 0.5,
    maxOutputTokens: 100,
    topP: 0.9,
    topK: 40,
    seed: 7,
    stopSequences: ['END'],
    presencePenalty: 0.1,
    frequencyPenalty: -0.1,
    providerOptions: { own: { thinking: { budget: 1_000 } } },
  }

  test('become settings of the call', async () => {
    const calls: CallOptions[] = []
    const provider = provide(modelOf('v3', calls))
    provider.validate?.(select(everything))
    await provider.resolve(select(everything)).generate(request())
    expect(calls[0]).toMatchObject(everything)
  })

  test('that are unknown are refused with a list of those that are known', () => {
    expect(() => provide(modelOf('v3')).validate?.(select({ apiKey: 'secret' }))).toThrow(
      "The parameters of model 'small' of provider 'own' are not valid: 'apiKey' is unknown. Known: temperature, maxOutputTokens, topP, topK, seed, stopSequences, presencePenalty, frequencyPenalty, providerOptions.",
    )
    expect(() => provide(modelOf('v3')).validate?.(select({ toString: 1 }))).toThrow("'toString' is unknown")
  })

  test.each([
    [{ temperature: '0.5' }, "'temperature' must be a number"],
    [{ topP: null }, "'topP' must be a number"],
    [{ presencePenalty: [] }, "'presencePenalty' must be a number"],
    [{ frequencyPenalty: true }, "'frequencyPenalty' must be a number"],
    [{ topK: 1.5 }, "'topK' must be a whole number"],
    [{ seed: 'seven' }, "'seed' must be a whole number"],
    [{ maxOutputTokens: 0 }, "'maxOutputTokens' must be a whole number above 0"],
    [{ maxOutputTokens: 0.5 }, "'maxOutputTokens' must be a whole number above 0"],
    [{ stopSequences: 'END' }, "'stopSequences' must be an array of strings"],
    [{ stopSequences: [1] }, "'stopSequences' must be an array of strings"],
    [{ providerOptions: [] }, "'providerOptions' must be an object with an object for each provider"],
    [{ providerOptions: { own: 1 } }, "'providerOptions' must be an object with an object for each provider"],
    [{ providerOptions: { own: null } }, "'providerOptions' must be an object with an object for each provider"],
  ])('of the wrong type are refused: %j', (params, problem) => {
    expect(() => provide(modelOf('v3')).validate?.(select(params))).toThrow(
      `The parameters of model 'small' of provider 'own' are not valid: ${problem}.`,
    )
  })
})

describe('a call', () => {
  test('passes on the signal, and the tools with their schemas unchanged', async () => {
    const calls: CallOptions[] = []
    const { signal } = new AbortController()
    const inputSchema = { type: 'object', properties: {} }
    const tools = [{ name: 'act', description: 'Acts.', inputSchema }]
    await provide(modelOf('v3', calls))
      .resolve(select())
      .generate(request({ signal, tools, system: 'Be kind.' }))
    expect(calls[0]?.abortSignal).toBe(signal)
    expect(calls[0]?.tools).toEqual([{ type: 'function', ...tools[0] }])
    expect(calls[0]?.tools?.[0]?.inputSchema).toBe(inputSchema)
    expect(calls[0]?.prompt).toEqual([{ role: 'system', content: 'Be kind.' }])
  })

  test('without tools has no property for them', async () => {
    const calls: CallOptions[] = []
    await provide(modelOf('v3', calls)).resolve(select()).generate(request())
    expect(calls[0]).not.toHaveProperty('tools')
  })

  test('rejects with what the model throws synchronously', async () => {
    const thrown = new Error('No key.')
    const model = {
      ...modelOf('v3'),
      doGenerate: () => {
        throw thrown
      },
    }
    await expect(provide(model).resolve(select()).generate(request())).rejects.toBe(thrown)
  })

  test('calls doGenerate as a method of the model', async () => {
    class Own {
      readonly specificationVersion = 'v3'
      readonly provider = 'own'
      readonly modelId = 'small'
      readonly #answer = result
      doGenerate(): Promise<GenerateResult> {
        return Promise.resolve(this.#answer)
      }
    }
    expect(await provide(new Own()).resolve(select()).generate(request())).toMatchObject({ finishReason: 'stop' })
  })
})
