// How a chat completions server answers: the formats that are published at platform.openai.com/docs/api-reference/chat
// and .../chat-streaming, with the reasoning that servers other than OpenAI's put next to the content.
import type { ModelSuiteReply } from '../../../suites/index.js'
import { dataEvent, piecesOf } from './server-sent-events.js'
import type { WireFormat } from './wire-format.js'

type Call = Readonly<Record<string, unknown>>

function callOf(id: string, name: string, args: string): Call {
  return { id, type: 'function', function: { name, arguments: args } }
}

function callsOf({ toolCalls = [] }: ModelSuiteReply): readonly Call[] {
  return toolCalls.map(({ id, name, input }) => callOf(id, name, JSON.stringify(input)))
}

function finishReasonOf({ stop }: ModelSuiteReply, calls: readonly Call[]): string {
  const reasons = { length: 'length', 'content-filter': 'content_filter', refusal: 'stop' } as const
  return stop === undefined ? (calls.length === 0 ? 'stop' : 'tool_calls') : reasons[stop]
}

function usageOf({ usage = { inputTokens: 1, outputTokens: 1 } }: ModelSuiteReply): object {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}

function completion(model: string, reply: ModelSuiteReply, calls: readonly Call[]): Readonly<Record<string, unknown>> {
  const { reasoning, text, stop } = reply
  const refused = stop === 'refusal'
  const message = {
    role: 'assistant',
    content: refused ? null : (text ?? null),
    ...(refused ? { refusal: text } : {}),
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: finishReasonOf(reply, calls) }],
    usage: usageOf(reply),
  }
}

function chunk(model: string, choices: readonly unknown[], fields: object = {}): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model }
  return dataEvent({ ...head, choices, ...fields })
}

/** The arguments of a call arrive in pieces, and only the first one names the call. */
function callDeltas(call: Call, index: number): readonly object[] {
  const { name, arguments: args } = call.function as { name: string; arguments: string }
  return [
    { tool_calls: [{ index, ...call, function: { name, arguments: '' } }] },
    ...piecesOf(args).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]
}

function chunks(model: string, reply: ModelSuiteReply, calls: readonly Call[]): readonly string[] {
  const { reasoning = '', text = '', stop } = reply
  const said = stop === 'refusal' ? 'refusal' : 'content'
  const deltas = [
    { role: 'assistant', content: '', refusal: null },
    ...piecesOf(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...piecesOf(text).map((piece) => ({ [said]: piece })),
    ...calls.flatMap(callDeltas),
  ]
  return [
    ...deltas.map((delta) => chunk(model, [{ index: 0, delta, finish_reason: null }])),
    chunk(model, [{ index: 0, delta: {}, finish_reason: finishReasonOf(reply, calls) }]),
    chunk(model, [], { usage: usageOf(reply) }),
    'data: [DONE]\n\n',
  ]
}

/** The answers of such a server. */
export function chatCompletions(
  model: string,
): Pick<WireFormat, 'model' | 'reply' | 'events' | 'malformedArguments' | 'error' | 'overloadedEvent'> {
  const malformed = [callOf('call-1', 'look_up', '{"order":')]
  return {
    model,
    reply: (reply) => completion(model, reply, callsOf(reply)),
    events: (reply) => chunks(model, reply, callsOf(reply)),
    malformedArguments: { reply: completion(model, {}, malformed), events: chunks(model, {}, malformed) },
    error: (status, message) => ({ error: { message, type: `error_${status}`, param: null, code: `code_${status}` } }),
    overloadedEvent: dataEvent({
      error: { message: 'The server is overloaded.', type: 'server_error', param: null, code: null },
    }),
  }
}
