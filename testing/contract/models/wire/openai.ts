// How the Responses API answers: the format that is published at platform.openai.com/docs/api-reference/responses.
import { createOpenAI } from '@ai-sdk/openai'
import type { ModelSuiteReply } from '../../../index.js'
import type { WireFormat } from './wire-format.js'

type Item = Readonly<Record<string, unknown>>

function messageItem(reply: ModelSuiteReply, text: string): Item {
  const content =
    reply.stop === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] }
  return { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [content] }
}

function outputOf(reply: ModelSuiteReply): Item[] {
  const { reasoning, text, toolCalls = [] } = reply
  const items: Item[] = []
  if (reasoning !== undefined) {
    const summary = [{ type: 'summary_text', text: reasoning }]
    items.push({ id: 'rs_1', type: 'reasoning', summary, encrypted_content: 'encrypted-thought' })
  }
  if (text !== undefined) items.push(messageItem(reply, text))
  toolCalls.forEach(({ id, name, input }, index) => {
    const call = { call_id: id, name, arguments: JSON.stringify(input), status: 'completed' }
    items.push({ id: `fc_${index + 1}`, type: 'function_call', ...call })
  })
  return items
}

function completed(output: readonly Item[], reply: ModelSuiteReply): Item {
  const { stop, usage = { inputTokens: 1, outputTokens: 1 } } = reply
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  const reasons = { length: 'max_output_tokens', 'content-filter': 'content_filter' } as const
  const reason = stop === undefined || stop === 'refusal' ? undefined : reasons[stop]
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: reason === undefined ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    model: 'gpt-5-mini',
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedInputTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    },
  }
}

/** OpenAI, over the Responses API. */
export const openaiWire: WireFormat = {
  name: 'openai',
  model: 'gpt-5-mini',
  url: 'https://api.openai.com/v1/responses',
  languageModel: (apiKey) => createOpenAI({ apiKey }),
  reply: (reply) => completed(outputOf(reply), reply),
  malformedArguments: completed(
    [
      {
        id: 'fc_1',
        type: 'function_call',
        call_id: 'call-1',
        name: 'look_up',
        arguments: '{"order":',
        status: 'completed',
      },
    ],
    {},
  ),
  error: (status, message) => ({ error: { message, type: `error_${status}`, param: null, code: `code_${status}` } }),
}
