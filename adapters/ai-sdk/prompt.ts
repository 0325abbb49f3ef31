/**
 * Translates the engine's messages into the prompt of a call. It adds no content and removes only blank texts:
 * Anthropic and Google reject a call that has one.
 */
import type { JsonObject, Message, MessagePart, ToolResultPart } from '../../src/index.js'
import type {
  AssistantContent,
  PromptMessage,
  ProviderOptions,
  SpecificationVersion,
  ToolResultContent,
  UserContent,
} from './language-model.js'
import { fileContent } from './media.js'

/** Sent for a user message without content: a turn can begin with an empty message, and the model has to answer it. */
const emptyMessage: UserContent = { type: 'text', text: '(no text)' }

/**
 * The prompt of a call, which begins with the system prompt if there is one.
 *
 * @throws `InvalidInputError` for an image or a file that has neither base64 nor a URL.
 */
export function promptOf(
  system: string | undefined,
  messages: readonly Message[],
  version: SpecificationVersion,
): PromptMessage[] {
  const prompt: PromptMessage[] = system === undefined || isBlank(system) ? [] : [{ role: 'system', content: system }]
  for (const { role, parts } of messages) {
    if (role === 'user') addUserMessage(prompt, parts, version)
    else if (role === 'assistant') addAssistantMessage(prompt, parts)
    else addResults(prompt, parts)
  }
  return prompt
}

function addUserMessage(prompt: PromptMessage[], parts: readonly MessagePart[], version: SpecificationVersion): void {
  const content = parts.flatMap((part) => userContent(part, version))
  prompt.push({ role: 'user', content: content.length > 0 ? content : [emptyMessage] })
}

function addAssistantMessage(prompt: PromptMessage[], parts: readonly MessagePart[]): void {
  const content = parts.flatMap(assistantContent)
  // Providers reject a message without content.
  if (content.length > 0) prompt.push({ role: 'assistant', content })
}

function userContent(part: MessagePart, version: SpecificationVersion): UserContent[] {
  if (part.type === 'text') return isBlank(part.text) ? [] : [{ type: 'text', text: part.text }]
  return part.type === 'image' || part.type === 'file' ? [fileContent(part, version)] : []
}

function assistantContent(part: MessagePart): AssistantContent[] {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const { type, text, providerData } = part
      // Providers reject a blank text as well, unless it has provider data such as a signature.
      return isBlank(text) && providerData === undefined ? [] : [{ type, text, ...providerOptionsOf(providerData) }]
    }
    case 'tool-call': {
      const { type, toolCallId, toolName, input, providerData } = part
      return [{ type, toolCallId, toolName, input, ...providerOptionsOf(providerData) }]
    }
    default:
      return []
  }
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function providerOptionsOf(providerData: JsonObject | undefined): { readonly providerOptions?: ProviderOptions } {
  return providerData === undefined ? {} : { providerOptions: providerData as ProviderOptions }
}

/** The results of the calls in one answer go into one message: some providers require as many results as calls. */
function addResults(prompt: PromptMessage[], parts: readonly MessagePart[]): void {
  const results = parts.flatMap((part) => (part.type === 'tool-result' ? [resultContent(part)] : []))
  const last = prompt.at(-1)
  if (last?.role === 'tool') last.content.push(...results)
  else prompt.push({ role: 'tool', content: results })
}

function resultContent({ type, toolCallId, toolName, output, isError }: ToolResultPart): ToolResultContent {
  const value = output
  if (typeof value === 'string') {
    return { type, toolCallId, toolName, output: { type: isError === true ? 'error-text' : 'text', value } }
  }
  return { type, toolCallId, toolName, output: { type: isError === true ? 'error-json' : 'json', value } }
}
