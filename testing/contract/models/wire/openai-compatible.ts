// How a chat completions server answers (Ollama, vLLM and many others): the format that is published at
// platform.openai.com/docs/api-reference/chat, with the reasoning that those servers put beside the content.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ModelSuiteReply } from '../../../index.js'
import type { WireFormat } from './wire-format.js'

type Call = Readonly<Record<string, unknown>>

function callOf(id: string, name: string, args: string): Call {
  return { id, type: 'function', function: { name, arguments: args } }
}

function completion(reply: ModelSuiteReply, calls: readonly Call[]): Readonly<Record<string, unknown>> {
  const { reasoning, text, stop, usage = { inputTokens: 1, outputTokens: 1 } } = reply
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  const reasons = { length: 'length', 'content-filter': 'content_filter', refusal: 'stop' } as const
  const refused = stop === 'refusal'
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'llama3.2',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: refused ? null : (text ?? null),
          ...(refused ? { refusal: text } : {}),
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        finish_reason: stop === undefined ? (calls.length === 0 ? 'stop' : 'tool_calls') : reasons[stop],
      },
    ],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedInputTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  }
}

/** A local server, by its base URL. */
export const openaiCompatibleWire: WireFormat = {
  name: 'local',
  model: 'llama3.2',
  url: 'http://127.0.0.1:11434/v1/chat/completions',
  languageModel: (apiKey) => createOpenAICompatible({ name: 'local', baseURL: 'http://127.0.0.1:11434/v1', apiKey }),
  reply: (reply) =>
    completion(
      reply,
      (reply.toolCalls ?? []).map(({ id, name, input }) => callOf(id, name, JSON.stringify(input))),
    ),
  malformedArguments: completion({}, [callOf('call-1', 'look_up', '{"order":')]),
  error: (status, message) => ({ error: { message, type: `error_${status}`, param: null, code: `code_${status}` } }),
}
