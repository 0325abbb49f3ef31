// How generateContent and streamGenerateContent answer: the format that is published at
// ai.google.dev/api/generate-content.
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import type { ModelSuiteReply } from '../../../suites/index.js'
import { dataEvent, piecesOf } from './server-sent-events.js'
import type { WireFormat } from './wire-format.js'

function callsOf({ toolCalls = [] }: ModelSuiteReply): unknown[] {
  return toolCalls.map(({ id, name, input }) => ({
    functionCall: { id, name, args: input },
    thoughtSignature: 'signed-thought',
  }))
}

function partsOf(reply: ModelSuiteReply): unknown[] {
  const { reasoning, text } = reply
  const parts: unknown[] = []
  if (reasoning !== undefined) parts.push({ text: reasoning, thought: true })
  if (text !== undefined) parts.push({ text })
  return [...parts, ...callsOf(reply)]
}

function usageOf({ usage = { inputTokens: 1, outputTokens: 1 } }: ModelSuiteReply): object {
  const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
  return {
    promptTokenCount: inputTokens,
    cachedContentTokenCount: cachedInputTokens,
    // Thoughts are counted apart.
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    totalTokenCount: inputTokens + outputTokens,
  }
}

function finishReasonOf({ stop }: ModelSuiteReply): string {
  return stop === 'length' ? 'MAX_TOKENS' : stop === 'content-filter' ? 'SAFETY' : 'STOP'
}

function answer(reply: ModelSuiteReply, parts: readonly unknown[], finishReason?: string): Record<string, unknown> {
  const candidate = { content: { role: 'model', parts }, index: 0 }
  const candidates = [finishReason === undefined ? candidate : { ...candidate, finishReason }]
  return { candidates, usageMetadata: usageOf(reply), modelVersion: 'gemini-2.5-flash', responseId: 'response-1' }
}

/** A prompt that is blocked gets no candidate at all. */
function blocked(reply: ModelSuiteReply): Record<string, unknown> {
  return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: usageOf(reply) }
}

// Its lines end in two characters.
const event = (data: unknown): string => dataEvent(data, '\r\n')

/** Google, over the Gemini API. */
export const googleWire: WireFormat = {
  name: 'google',
  model: 'gemini-2.5-flash',
  baseURL: 'https://generativelanguage.googleapis.com/v1beta',
  url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
  languageModel: createGoogleGenerativeAI,
  reply: (reply) => (reply.stop === 'refusal' ? blocked(reply) : answer(reply, partsOf(reply), finishReasonOf(reply))),
  events(reply) {
    if (reply.stop === 'refusal') return [event(blocked(reply))]
    const { reasoning = '', text = '' } = reply
    return [
      ...piecesOf(reasoning).map((piece) => event(answer(reply, [{ text: piece, thought: true }]))),
      ...piecesOf(text).map((piece) => event(answer(reply, [{ text: piece }]))),
      ...callsOf(reply).map((call) => event(answer(reply, [call]))),
      event(answer(reply, [{ text: '' }], finishReasonOf(reply))),
    ]
  },
  error: (status, message) => ({ error: { code: status, message, status: `STATUS_${status}` } }),
  overloadedEvent: event({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
}
