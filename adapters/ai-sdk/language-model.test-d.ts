// The specification as it is written down here, held to the types that the packages publish.
import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV3,
  LanguageModelV3CallOptions,
} from '@ai-sdk/provider'
import { expectTypeOf, test } from 'vitest'
import { type AiSdkLanguageModel, type AiSdkProviderOptions, aiSdkProvider } from './index.js'
import type { CallOptions, GenerateResult } from './language-model.js'

test('models of versions 2 and 3 are taken, and of one that is not known yet', () => {
  expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>()
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>()
  type Later = Omit<LanguageModelV3, 'specificationVersion'> & { readonly specificationVersion: 'v4' }
  expectTypeOf<Later>().toExtend<AiSdkLanguageModel>()
  expectTypeOf<string>().not.toExtend<AiSdkLanguageModel>()
})

/** The engine's JSON is read-only all the way down; that of the packages is not. */
type Writable<T> = T extends readonly (infer Item)[]
  ? Writable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Writable<T[Key]> }
    : T

test('what is asked is what both versions take', () => {
  type Asked = Writable<Omit<CallOptions, 'abortSignal' | 'tools'>> & Pick<CallOptions, 'abortSignal'>
  const asked = {} as Asked
  const ofVersion2: LanguageModelV2CallOptions = asked
  const ofVersion3: LanguageModelV3CallOptions = asked
  expectTypeOf(ofVersion2).not.toBeAny()
  expectTypeOf(ofVersion3).not.toBeAny()
})

test('what both versions answer is what is read', () => {
  type Answered<Model extends { doGenerate(...options: never): unknown }> = Awaited<ReturnType<Model['doGenerate']>>
  expectTypeOf<Answered<LanguageModelV2>['finishReason']>().toExtend<GenerateResult['finishReason']>()
  expectTypeOf<Answered<LanguageModelV3>['finishReason']>().toExtend<GenerateResult['finishReason']>()
})

test('options', () => {
  const languageModel = (name: string): AiSdkLanguageModel => ({
    specificationVersion: 'v3',
    provider: 'own',
    modelId: name,
    doGenerate: async () => undefined,
  })
  aiSdkProvider({ provider: 'own', languageModel })
  // @ts-expect-error a provider has a name
  aiSdkProvider({ languageModel })
  // @ts-expect-error a name alone is no model
  const noModel: AiSdkProviderOptions = { provider: 'own', languageModel: (name: string) => name }
  expectTypeOf(noModel).toExtend<AiSdkProviderOptions>()
})
