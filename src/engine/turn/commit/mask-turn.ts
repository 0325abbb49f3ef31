/**
 * Applies the engine's option `mask` to the texts that a turn stores. This happens when the turn has its reply, before
 * anything is measured, compacted or stored; until then the turn uses the original texts.
 */
import type { StoredMessage } from '../../../model/message.js'
import type { SentAttachment } from '../../../session/session-document.js'
import { deepFreeze } from '../../../util/json.js'
import { type Mask, maskJson, maskText } from '../../core/mask-text.js'
import type { TurnDraft } from '../draft/turn-draft.js'

type Part = StoredMessage['parts'][number]

/**
 * Masks the messages that a turn has added to the memories of its draft.
 *
 * @returns the masked texts for the history, and the mask, which remembers them; `undefined` if there is no mask
 * @throws `FlowCodeError` if the mask throws, or returns anything but a string
 */
export function maskTurn(
  mask: Mask | undefined,
  draft: TurnDraft,
  userMessage: string,
): { readonly message: string; readonly reply: string; readonly mask: Mask } | undefined {
  if (mask === undefined) return undefined
  const masked = onceForEach(mask)
  const { memory, reply } = draft
  const { text, encoding } = reply
  for (const { messages } of memory.touched.values()) messages.replaceAdded((one) => maskMessage(masked, one))
  draft.sent = draft.sent?.map((one) => deepFreeze(maskPart(masked, one as Part, 'message') as SentAttachment))
  const said = encoding === undefined ? maskReply(masked, text) : text
  return { message: masked(userMessage, 'message'), reply: said, mask: masked }
}

/** Masks each text once, so that memory and history get the same result, even if the mask numbers its replacements. */
function onceForEach(mask: Mask): Mask {
  const known = new Map<string, string>()
  return (text, where) => {
    const key = `${where} ${text}`
    let masked = text === '' ? text : known.get(key)
    if (masked === undefined) {
      masked = maskText(mask, text, where)
      known.set(key, masked)
    }
    return masked
  }
}

/** A reply that is a JSON object or list stays one, because clients may parse it, whatever its content type. */
function maskReply(mask: Mask, text: string): string {
  if (!/^\s*[[{]/.test(text)) return mask(text, 'reply')
  try {
    JSON.parse(text)
  } catch {
    return mask(text, 'reply')
  }
  return maskJsonText(mask, text)
}

/** A string literal, or a number, of a JSON text. */
const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/**
 * Masks each string and number of a valid JSON text in its written form, because the text is stored including parts
 * that a parser drops: repeated keys, and digits beyond the precision of a number. The rest is copied.
 */
function maskJsonText(mask: Mask, text: string): string {
  return text.replace(jsonToken, (token) => {
    const value: string = token.startsWith('"') ? JSON.parse(token) : token
    const masked = mask(value, 'reply')
    return masked === value ? token : JSON.stringify(masked)
  })
}

function maskMessage(mask: Mask, message: StoredMessage): StoredMessage {
  const said = message.role === 'user' ? 'message' : 'reply'
  return deepFreeze({ ...message, parts: message.parts.flatMap((part) => maskPart(mask, part, said)) })
}

/**
 * A part without its reasoning and provider data: both may contain the texts, and a signature belongs to the original
 * text.
 */
function maskPart(mask: Mask, part: Part, said: 'message' | 'reply'): Part | [] {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: said === 'reply' ? maskReply(mask, part.text) : mask(part.text, said) }
    case 'reasoning':
      return []
    case 'tool-call': {
      const { providerData: _, ...call } = part
      const input = maskJson(mask, part.input, part.type)
      const { invalidInput } = part
      return { ...call, input, ...(invalidInput && { invalidInput: mask(invalidInput, part.type) }) }
    }
    case 'tool-result':
      return { ...part, output: maskJson(mask, part.output, part.type) }
    default: {
      const { name } = part as { readonly name?: string }
      return name === undefined ? part : { ...part, name: mask(name, said) }
    }
  }
}
