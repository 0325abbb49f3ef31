// How the Messages API answers: the format that is published at docs.anthropic.com/en/api/messages.
import { createAnthropic } from '@ai-sdk/anthropic'
import type { ModelSuiteReply } from '../../../index.js'
import type { WireFormat } from './wire-format.js'

function contentOf({ reasoning, text, toolCalls = [] }: ModelSuiteReply): unknown[] {
  const content: unknown[] = []
  if (reasoning !== undefined) content.push({ type: 'thinking', thinking: reasoning, signature: 'signed-thought' })
  if (text !== undefined) content.push({ type: 'text', text })
  for (const { id, name, input } of toolCalls) content.push({ type: 'tool_use', id, name, input })
  return content
}

/** Anthropic, over the Messages API. */
export const anthropicWire: WireFormat = {
  name: 'anthropic',
  model: 'claude-sonnet-4-5',
  url: 'https://api.anthropic.com/v1/messages',
  languageModel: (apiKey) => createAnthropic({ apiKey }),
  reply(reply) {
    const { stop, toolCalls, usage = { inputTokens: 1, outputTokens: 1 } } = reply
    const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage
    const reasons = { length: 'max_tokens', 'content-filter': 'refusal', refusal: 'refusal' } as const
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: contentOf(reply),
      stop_reason: stop === undefined ? (toolCalls === undefined ? 'end_turn' : 'tool_use') : reasons[stop],
      stop_sequence: null,
      usage: {
        // What came from the cache is counted apart.
        input_tokens: inputTokens - cachedInputTokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: cachedInputTokens,
        output_tokens: outputTokens,
      },
    }
  },
  error: (status, message) => ({ type: 'error', error: { type: `error_${status}`, message } }),
}
