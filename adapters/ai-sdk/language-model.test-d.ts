// The types declared here, compared with those that the packages publish.
import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider'
import { expectTypeOf, test } from 'vitest'
import { type AiSdkLanguageModel, type AiSdkProviderOptions, aiSdkProvider } from './index.js'
import type { CallOptions, GenerateResult, StreamPart } from './language-model.js'

test('models of versions 2 and 3 are accepted, and of a later version', () => {
  expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>()
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>()
  type Later = Omit<LanguageModelV3, 'specificationVersion'> & { readonly specificationVersion: 'v4' }
  expectTypeOf<Later>().toExtend<AiSdkLanguageModel>()
  expectTypeOf<string>().not.toExtend<AiSdkLanguageModel>()
})

/** The engine's JSON is deeply read-only; that of the packages is not. Tagged files are those of version 4. */
type Writable<T> = T extends { readonly type: 'data' | 'url' }
  ? never
  : T extends URL
    ? T
    : T extends readonly (infer Item)[]
      ? Writable<Item>[]
      : T extends object
        ? { -readonly [Key in keyof T]: Writable<T[Key]> }
        : T

test('the options of a call are accepted by both versions', () => {
  type Options = Writable<Omit<CallOptions, 'abortSignal' | 'tools'>> & Pick<CallOptions, 'abortSignal'>
  const options = {} as Options
  const ofVersion2: LanguageModelV2CallOptions = options
  const ofVersion3: LanguageModelV3CallOptions = options
  expectTypeOf(ofVersion2).not.toBeAny()
  expectTypeOf(ofVersion3).not.toBeAny()
})

test('the results of both versions can be read', () => {
  type Answered<Model extends { doGenerate(...options: never): unknown }> = Awaited<ReturnType<Model['doGenerate']>>
  expectTypeOf<Answered<LanguageModelV2>['finishReason']>().toExtend<GenerateResult['finishReason']>()
  expectTypeOf<Answered<LanguageModelV3>['finishReason']>().toExtend<GenerateResult['finishReason']>()
})

test('the stream parts of both versions can be read', () => {
  type Streamed = LanguageModelV2StreamPart | LanguageModelV3StreamPart
  /** The fields that are read. The type of the packages' metadata allows values that JSON cannot carry. */
  type Read<Part> = Part extends { type: string } ? Pick<Part, Extract<keyof Part, ReadField>> : never
  type ReadField = Exclude<keyof StreamPart, 'providerMetadata' | 'usage'>
  type Of<Type extends Streamed['type']> = Read<Extract<Streamed, { type: Type }>>
  expectTypeOf<Of<'text-start' | 'text-delta' | 'text-end'>>().toExtend<StreamPart>()
  expectTypeOf<Of<'reasoning-start' | 'reasoning-delta' | 'reasoning-end'>>().toExtend<StreamPart>()
  expectTypeOf<Of<'tool-call' | 'finish' | 'raw' | 'error'>>().toExtend<StreamPart>()
  expectTypeOf<Of<'text-delta'>['delta']>().toEqualTypeOf<string>()
  expectTypeOf<Of<'tool-call'>['input']>().toEqualTypeOf<string>()
  type Opened<Model extends { doStream(...options: never): PromiseLike<{ stream: unknown }> }> = Awaited<
    ReturnType<Model['doStream']>
  >['stream']
  expectTypeOf<Opened<LanguageModelV2>>().toExtend<ReadableStream<LanguageModelV2StreamPart>>()
  expectTypeOf<Opened<LanguageModelV3>>().toExtend<ReadableStream<LanguageModelV3StreamPart>>()
})

test('options', () => {
  const languageModel = (name: string): AiSdkLanguageModel => ({
    specificationVersion: 'v3',
    provider: 'own',
    modelId: name,
    doGenerate: async () => undefined,
  })
  aiSdkProvider({ provider: 'own', languageModel })
  // @ts-expect-error the name of the provider is missing
  aiSdkProvider({ languageModel })
  // @ts-expect-error a name is not a model
  const noModel: AiSdkProviderOptions = { provider: 'own', languageModel: (name: string) => name }
  expectTypeOf(noModel).toExtend<AiSdkProviderOptions>()
})
