/**
 * The types of an AI SDK language model: the part of its specification that versions 2, 3 and 4 have in common, and
 * unions where they differ. They are declared here so that no package of the AI SDK is needed, not even for types.
 */
import type { JsonObject, JsonValue } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'

/**
 * A language model of an AI SDK provider package. Whether its specification version is supported is checked at run
 * time.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** Calls the model once. */
  doGenerate(options: never): PromiseLike<unknown>
  /** Calls the model once and streams its answer. Default: the engine's model has no `stream`. */
  doStream?(options: never): PromiseLike<unknown>
}

/** Options that only one provider reads, by provider and name. */
export type ProviderOptions = Record<string, Record<string, JsonValue>>

/** The content of a file: base64 or a URL in versions 2 and 3, a tagged object in version 4. */
export type FileData =
  | string
  | URL
  | { readonly type: 'data'; readonly data: string }
  | { readonly type: 'url'; readonly url: URL }

/** Content of a user message. */
export type UserContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: FileData; readonly filename?: string }

/** The output of a tool. */
export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: JsonValue }

/** Content of an assistant message. */
export type AssistantContent =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly providerOptions?: ProviderOptions }
  | {
      readonly type: 'tool-call'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: JsonValue
      readonly providerOptions?: ProviderOptions
    }

/** Content of a tool message: the result of one call. */
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

/** A tool as the model receives it. */
export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

/** The structure that an answer must have. */
export interface ResponseFormat {
  readonly type: 'json'
  readonly name: string
  readonly schema: JsonObject
}

/** The options of `doGenerate` and `doStream`. */
export interface CallOptions {
  readonly prompt: PromptMessage[]
  readonly tools?: FunctionTool[]
  readonly responseFormat?: ResponseFormat
  /** Whether a stream also has the raw chunks that the provider sent. */
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

/** Content of an answer. `answer.ts` ignores types that it does not know. */
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

/** A count of tokens: a number in version 2, an object with details since version 3. */
type TokenCount<Detail extends string> = number | ({ readonly total?: number } & { readonly [Name in Detail]?: number })

/** The tokens of a call. */
export interface Usage {
  readonly inputTokens?: TokenCount<'cacheRead'>
  readonly outputTokens?: TokenCount<'reasoning'>
  /** Version 2. */
  readonly cachedInputTokens?: number
  /** Version 2. */
  readonly reasoningTokens?: number
}

/**
 * Why a model stopped: a string in version 2; since version 3 an object with that string in `unified`, and with the
 * provider's own reason in `raw`.
 */
export type StopReason = string | { readonly unified: string; readonly raw?: string | undefined }

/** What `doGenerate` resolves to. */
export interface GenerateResult {
  readonly content: readonly AnswerContent[]
  readonly finishReason: StopReason
  readonly usage: Usage
  readonly response?: { readonly body?: unknown }
}

/**
 * A part of a streamed answer. Its `type` decides which fields it has; `streamed-answer.ts` ignores types that it does
 * not know.
 */
export interface StreamPart extends AnswerContent {
  /** Of text and reasoning: the ID of the block that the part belongs to. */
  readonly id?: string
  /** Of text and reasoning. */
  readonly delta?: string
  /** Of `finish`. */
  readonly finishReason?: StopReason
  /** Of `finish`. */
  readonly usage?: Usage
  /** Of `raw`: the chunk that the provider sent. */
  readonly rawValue?: unknown
  /** Of `error`: any value. */
  readonly error?: unknown
}

/** What `doStream` resolves to. */
export interface StreamResult {
  readonly stream: ReadableStream<StreamPart>
}

/** The versions of the specification that are supported. */
export type SpecificationVersion = 'v2' | 'v3' | 'v4'

/** A model of a supported version. */
export interface SupportedModel {
  readonly specificationVersion: SpecificationVersion
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>
  doStream?(options: CallOptions): PromiseLike<StreamResult>
}

const supportedVersions: readonly unknown[] = ['v2', 'v3', 'v4']

/**
 * Returns `model` if it is a language model of a supported version.
 *
 * @param name - The model's name in error messages.
 * @throws `InvalidInputError` that lists the supported versions.
 */
export function supportedModel(model: unknown, name: string): SupportedModel {
  const { specificationVersion, doGenerate } = (model ?? {}) as Partial<AiSdkLanguageModel>
  if (typeof specificationVersion !== 'string' || typeof doGenerate !== 'function') {
    throw invalidInput(
      `languageModel must return an AI SDK language model for the ${name}: specificationVersion or doGenerate is missing.`,
    )
  }
  if (!supportedVersions.includes(specificationVersion)) {
    throw invalidInput(
      `The ${name} has the specification version '${specificationVersion.slice(0, 40)}'. Supported: ${supportedVersions.join(', ')}.`,
    )
  }
  return model as SupportedModel
}
