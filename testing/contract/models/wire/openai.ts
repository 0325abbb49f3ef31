// How the Responses API answers: the formats that are published at platform.openai.com/docs/api-reference/responses and
// .../responses-streaming.
import { createOpenAI } from '@ai-sdk/openai'
import type { ModelSuiteReply } from '../../../suites/index.js'
import { namedEvent, piecesOf } from './server-sent-events.js'
import type { WireFormat } from './wire-format.js'

type Item = Readonly<Record<string, unknown>>
/** An event before it is numbered. */
type Event = { readonly type: string; readonly [field: string]: unknown }

function contentOf(reply: ModelSuiteReply, text: string): Item {
  return reply.stop === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] }
}

function messageItem(reply: ModelSuiteReply, text: string): Item {
  return { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [contentOf(reply, text)] }
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

function thoughtEvents(item: Item, place: Item): Event[] {
  const [summary] = item.summary as readonly { text: string }[]
  const at = { ...place, summary_index: 0 }
  const whole = { type: 'summary_text', text: summary?.text ?? '' }
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { type: 'summary_text', text: '' } },
    ...piecesOf(whole.text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text: whole.text },
    { type: 'response.reasoning_summary_part.done', ...at, part: whole },
  ]
}

function wordEvents(item: Item, place: Item): Event[] {
  const [content] = item.content as readonly { type: string; text?: string; refusal?: string }[]
  const at = { ...place, content_index: 0 }
  const { type = '', text = '', refusal } = content ?? {}
  const kind = refusal === undefined ? 'response.output_text' : 'response.refusal'
  return [
    { type: 'response.content_part.added', ...at, part: { type, text: '', annotations: [] } },
    ...piecesOf(refusal ?? text).map((delta) => ({ type: `${kind}.delta`, ...at, delta, logprobs: [] })),
    refusal === undefined ? { type: `${kind}.done`, ...at, text } : { type: `${kind}.done`, ...at, refusal },
    { type: 'response.content_part.done', ...at, part: content },
  ]
}

function callEvents(item: Item, place: Item): Event[] {
  const kind = 'response.function_call_arguments'
  const args = String(item.arguments)
  return [
    ...piecesOf(args).map((delta) => ({ type: `${kind}.delta`, ...place, delta })),
    { type: `${kind}.done`, ...place, arguments: args },
  ]
}

function itemEvents(item: Item, index: number): Event[] {
  const place = { item_id: item.id, output_index: index }
  // What it is going to hold is not known when it begins.
  const empty = { reasoning: { summary: [] }, message: { content: [] }, function_call: { arguments: '' } }
  const inner = { reasoning: thoughtEvents, message: wordEvents, function_call: callEvents }
  const type = item.type as keyof typeof inner
  const begun = { ...item, status: 'in_progress', ...empty[type] }
  return [
    { type: 'response.output_item.added', output_index: index, item: begun },
    ...inner[type](item, place),
    { type: 'response.output_item.done', output_index: index, item },
  ]
}

function eventsOf(output: readonly Item[], reply: ModelSuiteReply): string[] {
  const response = completed(output, reply)
  const begun = { ...response, status: 'in_progress', incomplete_details: null, output: [], usage: null }
  const events: Event[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap(itemEvents),
    { type: `response.${String(response.status)}`, response },
  ]
  return events.map(({ type, ...event }, index) => namedEvent({ type, sequence_number: index, ...event }))
}

const malformed: readonly Item[] = [
  {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call-1',
    name: 'look_up',
    arguments: '{"order":',
    status: 'completed',
  },
]

/** OpenAI, over the Responses API. */
export const openaiWire: WireFormat = {
  name: 'openai',
  model: 'gpt-5-mini',
  baseURL: 'https://api.openai.com/v1',
  url: 'https://api.openai.com/v1/responses',
  languageModel: createOpenAI,
  reply: (reply) => completed(outputOf(reply), reply),
  events: (reply) => eventsOf(outputOf(reply), reply),
  malformedArguments: { reply: completed(malformed, {}), events: eventsOf(malformed, {}) },
  error: (status, message) => ({ error: { message, type: `error_${status}`, param: null, code: `code_${status}` } }),
  overloadedEvent: namedEvent({
    type: 'error',
    sequence_number: 99,
    code: 'server_is_overloaded',
    message: 'The server is overloaded.',
    param: null,
  }),
}
