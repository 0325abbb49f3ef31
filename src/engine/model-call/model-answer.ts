/**
 * A model's answer and its cost. `answer-parts.ts` checks the parts of an answer; `turn/steps/run-model-step.ts` acts
 * on it.
 */
import { ModelError } from '../../errors/engine-errors.js'
import type { FinishReason, MessagePart, TokenUsage } from '../../model/message.js'
import type { ModelResponse } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import type { TurnDraft } from '../turn/draft/turn-draft.js'

/** An answer, and the model that gave it. */
export interface ModelAnswer {
  readonly parts: readonly MessagePart[]
  readonly resolved: ResolvedModel
  readonly finishReason: FinishReason | undefined
}

/** Counts that providers may leave out. */
const optionalCounts = ['cachedInputTokens', 'reasoningTokens'] as const

/**
 * The cost of a call. A count that is not a number becomes 0; optional counts that the provider does not report are
 * absent.
 */
export function usageOf(answered: Pick<ModelResponse, 'usage'>): TokenUsage {
  let reported: TokenUsage | undefined
  try {
    reported = answered?.usage
  } catch {
    // A thrown value may be any object, and its getters may throw.
  }
  const usage: { -readonly [Name in keyof TokenUsage]: TokenUsage[Name] } = {
    inputTokens: tokens(reported?.inputTokens),
    outputTokens: tokens(reported?.outputTokens),
  }
  for (const name of optionalCounts) if (reported?.[name] !== undefined) usage[name] = tokens(reported[name])
  return usage
}

/** Adds to the session's spending. A count that no provider reported stays absent. */
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
