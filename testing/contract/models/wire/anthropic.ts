// How the Messages API answers: the formats that are published at docs.anthropic.com/en/api/messages and .../streaming.
import { createAnthropic } from '@ai-sdk/anthropic'
import type { ModelSuiteReply } from '../../../suites/index.js'
import { namedEvent, piecesOf } from './server-sent-events.js'
import type { WireFormat } from './wire-format.js'

function contentOf({ reasoning, text, toolCalls = [] }: ModelSuiteReply): unknown[] {
  const content: unknown[] = []
  if (reasoning !== undefined) content.push({ type: 'thinking', thinking: reasoning, signature: 'signed-thought' })
  if (text !== undefined) content.push({ type: 'text', text })
  for (const { id, name, input } of toolCalls) content.push({ type: 'tool_use', id, name, input })
  return content
}

function stopReasonOf({ stop, toolCalls }: ModelSuiteReply): string {
  const reasons = { length: 'max_tokens', 'content-filter': 'refusal', refusal: 'refusal' } as const
  return stop === undefined ? (toolCalls === undefined ? 'end_turn' : 'tool_use') : reasons[stop]
}

function usageOf({ usage = { inputTokens: 1, outputTokens: 1 } }: ModelSuiteReply, outputTokens: number): object {
  const { inputTokens, cachedInputTokens = 0 } = usage
  return {
    // What came from the cache is counted apart.
    input_tokens: inputTokens - cachedInputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
  }
}

function messageOf(reply: ModelSuiteReply, fields: object): Readonly<Record<string, unknown>> {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] }
  return { ...message, stop_reason: null, stop_sequence: null, usage: usageOf(reply, 1), ...fields }
}

/** A block of the content: begun empty, then sent in pieces. */
function blockEvents(index: number, block: object, deltas: readonly object[]): string[] {
  return [
    namedEvent({ type: 'content_block_start', index, content_block: block }),
    ...deltas.map((delta) => namedEvent({ type: 'content_block_delta', index, delta })),
    namedEvent({ type: 'content_block_stop', index }),
  ]
}

function contentEvents({ reasoning, text, toolCalls = [] }: ModelSuiteReply): string[] {
  const events: string[] = []
  let index = 0
  if (reasoning !== undefined) {
    const thoughts = piecesOf(reasoning).map((thinking) => ({ type: 'thinking_delta', thinking }))
    const signature = { type: 'signature_delta', signature: 'signed-thought' }
    events.push(...blockEvents(index++, { type: 'thinking', thinking: '', signature: '' }, [...thoughts, signature]))
  }
  if (text !== undefined) {
    const deltas = piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece }))
    events.push(...blockEvents(index++, { type: 'text', text: '' }, deltas))
  }
  for (const { id, name, input } of toolCalls) {
    const pieces = ['', ...piecesOf(JSON.stringify(input))]
    const deltas = pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
    events.push(...blockEvents(index++, { type: 'tool_use', id, name, input: {} }, deltas))
  }
  return events
}

function messageEvents(reply: ModelSuiteReply, content: readonly string[]): readonly string[] {
  return [
    namedEvent({ type: 'message_start', message: messageOf(reply, {}) }),
    namedEvent({ type: 'ping' }),
    ...content,
    namedEvent({
      type: 'message_delta',
      delta: { stop_reason: stopReasonOf(reply), stop_sequence: null },
      usage: { output_tokens: reply.usage?.outputTokens ?? 1 },
    }),
    namedEvent({ type: 'message_stop' }),
  ]
}

/** Anthropic, over the Messages API. */
export const anthropicWire: WireFormat = {
  name: 'anthropic',
  model: 'claude-sonnet-4-5',
  baseURL: 'https://api.anthropic.com/v1',
  url: 'https://api.anthropic.com/v1/messages',
  languageModel: createAnthropic,
  reply: (reply) =>
    messageOf(reply, {
      content: contentOf(reply),
      stop_reason: stopReasonOf(reply),
      usage: usageOf(reply, reply.usage?.outputTokens ?? 1),
    }),
  events: (reply) => messageEvents(reply, contentEvents(reply)),
  malformedArguments: {
    events: messageEvents(
      { toolCalls: [] },
      blockEvents(0, { type: 'tool_use', id: 'call-1', name: 'look_up', input: {} }, [
        { type: 'input_json_delta', partial_json: '{"order":' },
      ]),
    ),
  },
  error: (status, message) => ({ type: 'error', error: { type: `error_${status}`, message } }),
  overloadedEvent: namedEvent({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Overloaded' },
  }),
}
