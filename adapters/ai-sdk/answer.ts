/**
 * Translates the result of `doGenerate` into the engine's response: text, reasoning, tool calls, finish reason and usage. Content
 * that the engine has no type for (sources, files, tools that the provider executed itself) is dropped. Packages differ in which
 * details they leave out, and leave them out as `undefined` or `null`; an answer is accepted without them.
 */
import {
  type FinishReason,
  type JsonObject,
  type JsonValue,
  type MessagePart,
  ModelError,
  type ModelResponse,
  type ResolvedModelSelection,
  type TokenUsage,
} from '../../src/index.js'
import { cutOffError } from './failure.js'
import type { AnswerContent, GenerateResult, StopReason, Usage } from './language-model.js'

const finishReasons: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other']

/**
 * The engine's response for a result.
 *
 * @throws `ModelError` for a tool call whose arguments are not valid JSON; an error with `isRetryable` if the package reports that
 * the answer was interrupted (since version 4). Both have the `usage` of the call.
 */
export function responseOf(result: GenerateResult, selection: ResolvedModelSelection): ModelResponse {
  const usage = usageOf(result.usage)
  try {
    if (unifiedReason(result.finishReason) === 'interrupted') throw cutOffError(selection)
    const parts = withUniqueCallIds(result.content.flatMap((content) => partOf(content, selection)))
    const finishReason = hasRefusal(result.response?.body) ? 'content-filter' : finishReasonOf(result.finishReason)
    return { parts, finishReason, usage }
  } catch (error) {
    throw Object.assign(error as Error, { usage })
  }
}

function partOf(content: AnswerContent, selection: ResolvedModelSelection): MessagePart[] {
  const { type, text = '', toolCallId = '', toolName = '', input = '', providerExecuted } = content
  if (type === 'text' || type === 'reasoning') {
    // Packages create a text when a stream begins, before they know whether there is any.
    const isEmpty = text === '' && isAbsent(content.providerMetadata)
    return isEmpty ? [] : [{ type, text, ...providerDataOf(content) }]
  }
  if (type !== 'tool-call' || providerExecuted === true) return []
  return [{ type, toolCallId, toolName, input: parseArguments(input, toolName, selection), ...providerDataOf(content) }]
}

function providerDataOf({ providerMetadata }: AnswerContent): { readonly providerData?: JsonObject } {
  return isAbsent(providerMetadata) ? {} : { providerData: providerMetadata }
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** Some servers give their calls no ID, or all of them the same. A result names its call by the ID alone, so it must be unique. */
function withUniqueCallIds(parts: readonly MessagePart[]): MessagePart[] {
  const used = new Set([''])
  return parts.map((part) => {
    if (part.type !== 'tool-call') return part
    const unique = used.has(part.toolCallId) ? { ...part, toolCallId: `call_${crypto.randomUUID()}` } : part
    used.add(unique.toolCallId)
    return unique
  })
}

function parseArguments(input: string, toolName: string, selection: ResolvedModelSelection): JsonValue {
  // Some models call a tool without parameters with an empty text.
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input) as JsonValue
  } catch (cause) {
    const { provider, name: model } = selection
    const detail = `It called '${toolName}' with arguments that are not valid JSON.`
    throw new ModelError({ provider, model, detail, cause })
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
 * Whether a chat completion, or a chunk of a streamed one, has a refusal. `@ai-sdk/openai-compatible` ignores it, and the answer
 * would be empty.
 */
export function hasRefusal(body: unknown): boolean {
  const choice = (body as { choices?: readonly (Choice | null)[] } | null | undefined)?.choices?.[0]
  const refusal = (choice?.message ?? choice?.delta)?.refusal
  return typeof refusal === 'string' && refusal !== ''
}

/** The engine's usage for that of a result. Counts that are absent or not valid are 0, and absent if they are optional. */
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
