// A server that is compatible with OpenAI's chat completions: Ollama, vLLM and many others.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { chatCompletions } from './chat-completions.js'
import type { WireFormat } from './wire-format.js'

const baseURL = 'http://127.0.0.1:11434/v1'

/** A local server, by its base URL. */
export const openaiCompatibleWire: WireFormat = {
  ...chatCompletions('llama3.2'),
  name: 'local',
  baseURL,
  url: `${baseURL}/chat/completions`,
  languageModel: (connection) =>
    createOpenAICompatible({
      name: 'local',
      baseURL,
      includeUsage: true,
      supportsStructuredOutputs: true,
      ...connection,
    }),
}
