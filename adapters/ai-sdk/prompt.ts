/**
 * From the engine's messages to the prompt of a call. It reshapes; nothing is added, cut or explained, but for what is
 * blank: Anthropic and Google refuse a text without words, and with it the whole call.
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

/** What stands for a user who said nothing: a turn may begin that way, and is to be answered. */
const nothingSaid: UserContent = { type: 'text', text: '(no text)' }

/**
 * The prompt of a call: the system prompt first, where there is one.
 *
 * @throws `InvalidInputError` for an image or a file that has neither base64 nor an address.
 */
export function promptOf(
  system: string | undefined,
  messages: readonly Message[],
  version: SpecificationVersion,
): PromptMessage[] {
  const prompt: PromptMessage[] = system === undefined || isBlank(system) ? [] : [{ role: 'system', content: system }]
  for (const { role, parts } of messages) {
    if (role === 'user') {
      const content = parts.flatMap((part) => userContent(part, version))
      prompt.push({ role, content: content.length > 0 ? content : [nothingSaid] })
    } else if (role === 'assistant') {
      const content = parts.flatMap(assistantContent)
      // Providers refuse a message without content.
      if (content.length > 0) prompt.push({ role, content })
    } else {
      addResults(prompt, parts)
    }
  }
  return prompt
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
      // A blank block is refused too, unless a signature hangs on it.
      return isBlank(text) && providerData === undefined ? [] : [{ type, text, ...optionsOf(providerData) }]
    }
    case 'tool-call': {
      const { type, toolCallId, toolName, input, providerData } = part
      return [{ type, toolCallId, toolName, input, ...optionsOf(providerData) }]
    }
    default:
      return []
  }
}

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function optionsOf(providerData: JsonObject | undefined): { readonly providerOptions?: ProviderOptions } {
  return providerData === undefined ? {} : { providerOptions: providerData as ProviderOptions }
}

/** Results of one reply's calls belong in one message: there are providers that count them. */
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
