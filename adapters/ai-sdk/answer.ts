/**
 * From what a language model answered to the engine's response: words, reasoning, tool calls, why it stopped and what it
 * cost. What the engine has no form for (sources, files, tools that the provider ran itself) is passed over. Packages
 * differ in what they leave out, and in how: an answer counts without what is said about it.
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
import { cutOff } from './failure.js'
import type { AnswerContent, GenerateResult, StopReason, Usage } from './language-model.js'

const finishReasons: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other']

/**
 * The engine's response.
 *
 * @throws `ModelError` where a tool is called with arguments that are no JSON; an error with `isRetryable` where the
 * package says that there should be more (since version 4).
 */
export function responseOf(result: GenerateResult, selection: ResolvedModelSelection): ModelResponse {
  const usage = usageOf(result.usage)
  try {
    if (wordOf(result.finishReason) === 'interrupted') throw cutOff(selection)
    const parts = withOwnIds(result.content.flatMap((content) => partOf(content, selection)))
    const finishReason = hasRefusal(result.response?.body) ? 'content-filter' : finishReasonOf(result.finishReason)
    return { parts, finishReason, usage }
  } catch (error) {
    // It was paid for.
    throw Object.assign(error as Error, { usage })
  }
}

function partOf(content: AnswerContent, selection: ResolvedModelSelection): MessagePart[] {
  const { type, text = '', toolCallId = '', toolName = '', input = '', providerExecuted } = content
  if (type === 'text' || type === 'reasoning') {
    // Nothing was said: streams begin a text before they know.
    return text === '' && isAbsent(content.providerMetadata) ? [] : [{ type, text, ...dataOf(content) }]
  }
  if (type !== 'tool-call' || providerExecuted === true) return []
  return [{ type, toolCallId, toolName, input: argumentsOf(input, toolName, selection), ...dataOf(content) }]
}

function dataOf({ providerMetadata }: AnswerContent): { readonly providerData?: JsonObject } {
  return isAbsent(providerMetadata) ? {} : { providerData: providerMetadata }
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** Servers that give their calls no ID, or all of them one: a result is told from another by the ID alone. */
function withOwnIds(parts: readonly MessagePart[]): MessagePart[] {
  const taken = new Set([''])
  return parts.map((part) => {
    if (part.type !== 'tool-call') return part
    const own = taken.has(part.toolCallId) ? { ...part, toolCallId: `call_${crypto.randomUUID()}` } : part
    taken.add(own.toolCallId)
    return own
  })
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

function finishReasonOf(reason: StopReason | undefined | null): FinishReason {
  const word = wordOf(reason)
  return finishReasons.find((known) => known === word) ?? 'other'
}

function wordOf(reason: StopReason | undefined | null): string | undefined {
  return typeof reason === 'object' ? reason?.unified : reason
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

/** What a call cost. */
export function usageOf(usage: Usage | undefined | null): TokenUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {}
  const input = typeof inputTokens === 'object' ? inputTokens : { total: inputTokens, cacheRead: cachedInputTokens }
  const output = typeof outputTokens === 'object' ? outputTokens : { total: outputTokens, reasoning: reasoningTokens }
  const [cached, reasoning] = [countOf(input?.cacheRead), countOf(output?.reasoning)]
  return {
    inputTokens: countOf(input?.total) ?? 0,
    outputTokens: countOf(output?.total) ?? 0,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  }
}

function countOf(count: unknown): number | undefined {
  return typeof count === 'number' && count >= 0 && Number.isFinite(count) ? count : undefined
}
