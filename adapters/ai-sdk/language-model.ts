/**
 * What is known of an AI SDK language model, in the words of its specification: the part of versions 2, 3 and 4 in which
 * they agree, and where they differ both forms. Written down here so that no package is needed, not even for types.
 */
import { InvalidInputError, type JsonObject, type JsonValue } from '../../src/index.js'

/** A language model of an AI SDK provider package, of any specification version: the supported ones are told at run time. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** Calls the model once. */
  doGenerate(options: never): PromiseLike<unknown>
  /** Calls the model once, and gives its answer piece by piece. Default: the models made of it have no `stream`. */
  doStream?(options: never): PromiseLike<unknown>
}

/** By provider, then by name: what only that provider reads. */
export type ProviderOptions = Record<string, Record<string, JsonValue>>

/** Where the bytes of a file are: itself in versions 2 and 3, and named by what it is in version 4. */
export type FileData =
  | string
  | URL
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: URL }

/** A piece of what the user said. */
export type UserContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: FileData; readonly filename?: string }

/** What a tool answered. */
export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JsonValue }

/** A piece of the model's own words. */
export type AssistantContent =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly providerOptions?: ProviderOptions }
  | {
      readonly type: 'tool-call'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: JsonValue
      readonly providerOptions?: ProviderOptions
    }

/** A result of a tool. */
export interface ToolResultContent {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
}

/** One message of the prompt. */
export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: UserContent[] }
  | { readonly role: 'assistant'; readonly content: AssistantContent[] }
  | { readonly role: 'tool'; readonly content: ToolResultContent[] }

/** A tool as the model gets it. */
export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** The form that an answer must have. */
export interface ResponseFormat {
  readonly type: 'json'
  readonly name: string
  readonly schema: JsonObject
}

/** What `doGenerate` and `doStream` are called with. */
export interface CallOptions {
  readonly prompt: PromptMessage[]
  readonly tools?: FunctionTool[]
  readonly responseFormat?: ResponseFormat
  /** Whether a stream has what the provider sent beside what became of it. */
  readonly includeRawChunks?: boolean
  readonly abortSignal: AbortSignal
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly stopSequences?: string[]
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly providerOptions?: ProviderOptions
}

/** A piece of an answer. Types that are not listed are passed over. */
export interface AnswerContent {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
  /** The arguments as JSON text. */
  readonly input?: string
  readonly providerExecuted?: boolean
  readonly providerMetadata?: JsonObject
}

/** A count of tokens: a number in version 2, broken down since version 3. */
type TokenCount<Detail extends string> = number | ({ readonly total?: number } & { readonly [Name in Detail]?: number })

/** What a call cost. */
export interface Usage {
  readonly inputTokens?: TokenCount<'cacheRead'>
  readonly outputTokens?: TokenCount<'reasoning'>
  /** Version 2. */
  readonly cachedInputTokens?: number
  /** Version 2. */
  readonly reasoningTokens?: number
}

/**
 * Why a model stopped: a word in version 2, and in later ones an object that has it in `unified`, and the provider's own
 * word in `raw`.
 */
export type StopReason = string | { readonly unified: string; readonly raw?: string | undefined }

/** What `doGenerate` resolves to. */
export interface GenerateResult {
  readonly content: readonly AnswerContent[]
  readonly finishReason: StopReason
  readonly usage: Usage
  readonly response?: { readonly body?: unknown }
}

/** A piece of a streamed answer. Which fields it has is up to its type; types that are not listed are passed over. */
export interface StreamPart extends AnswerContent {
  /** Of a text or a thought: what ties its pieces together. */
  readonly id?: string
  /** Of a text or a thought. */
  readonly delta?: string
  /** Of `finish`. */
  readonly finishReason?: StopReason
  /** Of `finish`. */
  readonly usage?: Usage
  /** Of `raw`: what the provider sent. */
  readonly rawValue?: unknown
  /** Of `error`: anything. */
  readonly error?: unknown
}

/** What `doStream` resolves to. */
export interface StreamResult {
  readonly stream: ReadableStream<StreamPart>
}

/** The versions of the specification that are understood. */
export type SpecificationVersion = 'v2' | 'v3' | 'v4'

/** A model of a supported version. */
export interface SupportedModel {
  readonly specificationVersion: SpecificationVersion
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>
  doStream?(options: CallOptions): PromiseLike<StreamResult>
}

const supportedVersions: readonly unknown[] = ['v2', 'v3', 'v4']

/**
 * `model`, if it is one, and of a supported version.
 *
 * @param name - How error messages name it.
 * @throws `InvalidInputError` that says what is supported.
 */
export function supportedModel(model: unknown, name: string): SupportedModel {
  const { specificationVersion, doGenerate } = (model ?? {}) as Partial<AiSdkLanguageModel>
  if (typeof specificationVersion !== 'string' || typeof doGenerate !== 'function') {
    throw new InvalidInputError({
      message: `languageModel made no AI SDK language model for the ${name}: it has no specificationVersion, or no doGenerate(options).`,
    })
  }
  if (!supportedVersions.includes(specificationVersion)) {
    throw new InvalidInputError({
      message: `The ${name} has the specification version '${specificationVersion.slice(0, 40)}'. Supported: ${supportedVersions.join(', ')}.`,
    })
  }
  return model as SupportedModel
}
