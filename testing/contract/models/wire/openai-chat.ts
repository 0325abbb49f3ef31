// OpenAI's chat completions, which its package uses on request.
import { createOpenAI } from '@ai-sdk/openai'
import { chatCompletions } from './chat-completions.js'
import type { WireFormat } from './wire-format.js'

/** OpenAI, over chat completions. */
export const openaiChatWire: WireFormat = {
  ...chatCompletions('gpt-4.1-mini'),
  name: 'openai-chat',
  baseURL: 'https://api.openai.com/v1',
  url: 'https://api.openai.com/v1/chat/completions',
  languageModel: (connection) => createOpenAI(connection).chat,
}
