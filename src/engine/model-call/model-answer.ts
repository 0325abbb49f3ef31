/**
 * What a model answered: usage, parts and finish reason, checked, copied and frozen. A provider is not trusted to return
 * what its type promises. `turn/run-model-step.ts` decides what becomes of the answer.
 */
import { ModelBlockedError, ModelError } from '../../errors/engine-errors.js'
import type { FinishReason, MessagePart, TextPart, TokenUsage } from '../../model/message.js'
import type { ModelResponse } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { copyJson, deepFreeze, isPlainObject, type JsonError, type JsonObject } from '../../util/json.js'
import type { TurnDraft } from '../turn/turn-draft.js'

/** An answer, and the model that gave it. */
export interface ModelAnswer {
  readonly parts: readonly MessagePart[]
  readonly resolved: ResolvedModel
  readonly finishReason: FinishReason | undefined
}

/** Counts that providers may leave out. */
const optionalCounts = ['cachedInputTokens', 'reasoningTokens'] as const

/** What a call cost. A count that is not a number is 0; optional counts that the provider does not report are absent. */
export function usageOf(answered: Pick<ModelResponse, 'usage'>): TokenUsage {
  let reported: TokenUsage | undefined
  try {
    reported = answered?.usage
  } catch {
    // What was thrown may be any object, and its getters may throw.
  }
  const usage: { -readonly [Name in keyof TokenUsage]: TokenUsage[Name] } = {
    inputTokens: tokens(reported?.inputTokens),
    outputTokens: tokens(reported?.outputTokens),
  }
  for (const name of optionalCounts) if (reported?.[name] !== undefined) usage[name] = tokens(reported[name])
  return usage
}

/** Adds to what the session spent. A count that no provider reported stays absent. */
export function spend(spent: TurnDraft['usage'], usage: TokenUsage): void {
  spent.inputTokens += usage.inputTokens
  spent.outputTokens += usage.outputTokens
  for (const name of optionalCounts) {
    const count = usage[name]
    if (count !== undefined) spent[name] = (spent[name] ?? 0) + count
  }
}

function tokens(count: unknown): number {
  return Number.isFinite(count) && (count as number) > 0 ? (count as number) : 0
}

/**
 * The parts of a model's answer, checked, copied and frozen.
 *
 * @throws {@link ModelBlockedError} | {@link ModelError}
 */
export function partsOf(response: ModelResponse, resolved: ResolvedModel, maxDepth: number): readonly MessagePart[] {
  if (!isPlainObject(response) || !Array.isArray(response.parts)) {
    throw modelError(resolved, 'It answered without a list of parts.')
  }
  const { name: model, provider } = resolved.selection
  if (response.finishReason === 'content-filter') throw new ModelBlockedError({ provider, model })
  if (response.finishReason === 'error') throw modelError(resolved, 'It stopped with an error.')
  return response.parts.map((part: MessagePart) => partOf(part, resolved, maxDepth))
}

function partOf(part: MessagePart, resolved: ResolvedModel, maxDepth: number): MessagePart {
  const data = providerDataOf(part, resolved, maxDepth)
  if ((part?.type === 'text' || part?.type === 'reasoning') && typeof part.text === 'string') {
    return Object.freeze({ type: part.type, text: part.text, ...data })
  }
  if (part?.type !== 'tool-call' || typeof part.toolCallId !== 'string' || typeof part.toolName !== 'string') {
    throw modelError(resolved, 'It answered with a part that is not a text, a reasoning or a tool call.')
  }
  const { type, toolCallId, toolName } = part
  const refuse = (_problem: string, cause: JsonError): Error => {
    const problem = cause.isTooDeep
      ? `nested deeper than the limit maxJsonDepth (${maxDepth})`
      : 'that are not valid JSON'
    return modelError(resolved, `It called '${toolName}' with arguments ${problem}.`, cause)
  }
  const input = deepFreeze(copyJson(part.input ?? {}, 'input', maxDepth, refuse))
  return Object.freeze({ type, toolCallId, toolName, input, ...data })
}

function providerDataOf(
  part: MessagePart,
  resolved: ResolvedModel,
  maxDepth: number,
): { readonly providerData?: JsonObject } | undefined {
  const data: unknown = (part as Partial<TextPart> | null | undefined)?.providerData
  if (data === undefined) return undefined
  const refuse = (_problem: string, cause?: Error): Error =>
    modelError(resolved, 'It answered with providerData that is not a JSON object.', cause)
  if (!isPlainObject(data)) throw refuse('')
  return { providerData: deepFreeze(copyJson(data, 'providerData', maxDepth, refuse) as JsonObject) }
}

/** A failure of a model. */
export function modelError(resolved: ResolvedModel, detail: string | undefined, cause?: unknown): ModelError {
  const { provider, name } = resolved.selection
  return new ModelError({ provider, model: name, detail, cause })
}

/** The text of an answer. */
export function textOf(parts: readonly MessagePart[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text
  return text
}
