/**
 * From what a language model answered to the engine's response: words, reasoning, tool calls, why it stopped and what it
 * cost. What the engine has no form for (sources, files, tools that the provider ran itself) is passed over.
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
import type { AnswerContent, GenerateResult, StopReason, Usage } from './language-model.js'

const finishReasons: readonly string[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other']

/**
 * The engine's response.
 *
 * @throws `ModelError` where a tool is called with arguments that are no JSON.
 */
export function responseOf(result: GenerateResult, selection: ResolvedModelSelection): ModelResponse {
  const parts = result.content.flatMap((content) => partOf(content, selection))
  const finishReason = hasRefusal(result.response?.body) ? 'content-filter' : finishReasonOf(result.finishReason)
  return { parts, finishReason, usage: usageOf(result.usage) }
}

function partOf(content: AnswerContent, selection: ResolvedModelSelection): MessagePart[] {
  const { type, text = '', toolCallId = '', toolName = '', input = '', providerExecuted } = content
  if (type === 'text' || type === 'reasoning') {
    // Nothing was said: streams begin a text before they know.
    return text === '' && content.providerMetadata === undefined ? [] : [{ type, text, ...dataOf(content) }]
  }
  if (type !== 'tool-call' || providerExecuted === true) return []
  return [{ type, toolCallId, toolName, input: argumentsOf(input, toolName, selection), ...dataOf(content) }]
}

function dataOf({ providerMetadata }: AnswerContent): { readonly providerData?: JsonObject } {
  return providerMetadata === undefined ? {} : { providerData: providerMetadata }
}

function argumentsOf(input: string, toolName: string, selection: ResolvedModelSelection): JsonValue {
  // A tool without parameters is called with nothing by some.
  if (input.trim() === '') return {}
  try {
    return JSON.parse(input) as JsonValue
  } catch (cause) {
    const { provider, name: model } = selection
    throw new ModelError({ provider, model, detail: `It called '${toolName}' with arguments that are no JSON.`, cause })
  }
}

function finishReasonOf(reason: StopReason): FinishReason {
  const word = typeof reason === 'string' ? reason : reason.unified
  return finishReasons.includes(word) ? (word as FinishReason) : 'other'
}

interface Choice {
  readonly message?: { readonly refusal?: unknown } | null
  readonly delta?: { readonly refusal?: unknown } | null
}

/**
 * Whether a chat completion, or a piece of one, brought a refusal: `@ai-sdk/openai-compatible` reads past it, and the
 * answer would be empty.
 */
export function hasRefusal(body: unknown): boolean {
  const choice = (body as { choices?: readonly (Choice | null)[] } | null | undefined)?.choices?.[0]
  const refusal = (choice?.message ?? choice?.delta)?.refusal
  return typeof refusal === 'string' && refusal !== ''
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): TokenUsage {
  const input = typeof inputTokens === 'object' ? inputTokens : { total: inputTokens, cacheRead: cachedInputTokens }
  const output = typeof outputTokens === 'object' ? outputTokens : { total: outputTokens, reasoning: reasoningTokens }
  return {
    inputTokens: input.total ?? 0,
    outputTokens: output.total ?? 0,
    ...(input.cacheRead === undefined ? {} : { cachedInputTokens: input.cacheRead }),
    ...(output.reasoning === undefined ? {} : { reasoningTokens: output.reasoning }),
  }
}
