/**
 * Translates the result of `doGenerate` into the engine's response: text, reasoning, tool calls, finish reason and
 * usage. Content that the engine has no type for (sources, files, tools that the provider executed itself) is dropped.
 * Packages differ in which details they leave out, and leave them out as `undefined` or `null`; an answer is accepted
 * without them.
 */
import type {
  FinishReason,
  JsonObject,
  JsonValue,
  MessagePart,
  ModelResponse,
  ResolvedModelSelection,
  TokenUsage,
  ToolCallPart,
} from '../../src/index.js'
import { cutOffError } from './failure.js'
import type { AnswerContent, GenerateResult, StopReason, Usage } from './language-model.js'

const finishReasons: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other']

/**
 * The engine's response for a result.
 *
 * @throws An error with `isRetryable` and the `usage` of the call if the package reports that the answer was
 * interrupted (since version 4).
 */
export function responseOf(result: GenerateResult, selection: ResolvedModelSelection): ModelResponse {
  const usage = usageOf(result.usage)
  if (unifiedReason(result.finishReason) === 'interrupted') throw Object.assign(cutOffError(selection), { usage })
  const parts = result.content.flatMap(partOf)
  const finishReason = hasRefusal(result.response?.body) ? 'content-filter' : finishReasonOf(result.finishReason)
  return { parts, finishReason, usage }
}

function partOf(content: AnswerContent): MessagePart[] {
  const { type, text = '', toolCallId = '', toolName = '', input = '', providerExecuted } = content
  if (type === 'text' || type === 'reasoning') {
    // Packages create a text when a stream begins, before they know whether there is any.
    const isEmpty = text === '' && isAbsent(content.providerMetadata)
    return isEmpty ? [] : [{ type, text, ...providerDataOf(content) }]
  }
  if (type !== 'tool-call' || providerExecuted === true) return []
  return [{ type, toolCallId, toolName, ...parseArguments(input), ...providerDataOf(content) }]
}

function providerDataOf({ providerMetadata }: AnswerContent): { readonly providerData?: JsonObject } {
  return isAbsent(providerMetadata) ? {} : { providerData: providerMetadata }
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** The arguments, or why they cannot be read. */
function parseArguments(text: string): Pick<ToolCallPart, 'input' | 'invalidInput'> {
  // Some models call a tool without parameters with an empty text.
  if (text.trim() === '') return { input: {} }
  try {
    return { input: JSON.parse(text) as JsonValue }
  } catch {
    return { input: {}, invalidInput: `They are not valid JSON: ${text}` }
  }
}

function finishReasonOf(reason: StopReason | undefined | null): FinishReason {
  const unified = unifiedReason(reason)
  return finishReasons.find((known) => known === unified) ?? 'other'
}

function unifiedReason(reason: StopReason | undefined | null): string | undefined {
  return typeof reason === 'object' ? reason?.unified : reason
}

interface Choice {
  readonly message?: { readonly refusal?: unknown } | null
  readonly delta?: { readonly refusal?: unknown } | null
}

/**
 * Whether a chat completion, or a chunk of a streamed one, has a refusal. `@ai-sdk/openai-compatible` ignores it, and
 * the answer would be empty.
 */
export function hasRefusal(body: unknown): boolean {
  const choice = (body as { choices?: readonly (Choice | null)[] } | null | undefined)?.choices?.[0]
  const refusal = (choice?.message ?? choice?.delta)?.refusal
  return typeof refusal === 'string' && refusal !== ''
}

/**
 * Converts the usage of a result to the engine's. A missing or invalid count becomes 0, or is left out if it is
 * optional.
 */
export function usageOf(usage: Usage | undefined | null): TokenUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {}
  const input = typeof inputTokens === 'object' ? inputTokens : { total: inputTokens, cacheRead: cachedInputTokens }
  const output = typeof outputTokens === 'object' ? outputTokens : { total: outputTokens, reasoning: reasoningTokens }
  const cached = validCount(input?.cacheRead)
  const reasoning = validCount(output?.reasoning)
  return {
    inputTokens: validCount(input?.total) ?? 0,
    outputTokens: validCount(output?.total) ?? 0,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  }
}

function validCount(count: unknown): number | undefined {
  return typeof count === 'number' && count >= 0 && Number.isFinite(count) ? count : undefined
}
