// How generateContent answers: the format that is published at ai.google.dev/api/generate-content.
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import type { ModelSuiteReply } from '../../../index.js'
import type { WireFormat } from './wire-format.js'

function partsOf({ reasoning, text, toolCalls = [] }: ModelSuiteReply): unknown[] {
  const parts: unknown[] = []
  if (reasoning !== undefined) parts.push({ text: reasoning, thought: true })
  if (text !== undefined) parts.push({ text })
  for (const { id, name, input } of toolCalls) {
    parts.push({ functionCall: { id, name, args: input }, thoughtSignature: 'signed-thought' })
  }
  return parts
}

/** Google, over the Gemini API. */
export const googleWire: WireFormat = {
  name: 'google',
  model: 'gemini-2.5-flash',
  url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent',
  languageModel: (apiKey) => createGoogleGenerativeAI({ apiKey }),
  reply(reply) {
    const { stop, usage = { inputTokens: 1, outputTokens: 1 } } = reply
    const { inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage
    const usageMetadata = {
      promptTokenCount: inputTokens,
      cachedContentTokenCount: cachedInputTokens,
      // Thoughts are counted apart.
      candidatesTokenCount: outputTokens - reasoningTokens,
      thoughtsTokenCount: reasoningTokens,
      totalTokenCount: inputTokens + outputTokens,
    }
    // A prompt that is blocked gets no candidate at all.
    if (stop === 'refusal') return { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata }
    const finishReason = stop === 'length' ? 'MAX_TOKENS' : stop === 'content-filter' ? 'SAFETY' : 'STOP'
    const content = { role: 'model', parts: partsOf(reply) }
    return { candidates: [{ content, finishReason, index: 0 }], usageMetadata, responseId: 'response-1' }
  },
  error: (status, message) => ({ error: { code: status, message, status: `STATUS_${status}` } }),
}
