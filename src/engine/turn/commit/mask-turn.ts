/**
 * The option `mask` of the engine: what a turn stores of its conversation in place of what was said. It is asked when
 * the turn has its reply, before anything is measured, compacted or stored; until then the turn works
 * with the texts themselves.
 */
import type { StoredMessage } from '../../../model/message.js'
import { deepFreeze, type JsonValue } from '../../../util/json.js'
import { type Mask, maskText } from '../../core/mask-text.js'
import type { TurnDraft } from '../draft/turn-draft.js'

type Place = Parameters<Mask>[1]
type Part = StoredMessage['parts'][number]

/**
 * Masks the messages that a turn has added to the memories of its draft.
 *
 * @returns What the history gets. `undefined` where there is no mask.
 * @throws `FlowCodeError` where the mask throws, or returns something other than a string.
 */
export function maskTurn(
  mask: Mask | undefined,
  draft: TurnDraft,
  userMessage: string,
): { readonly message: string; readonly reply: string } | undefined {
  if (mask === undefined) return undefined
  const masked = onceForEach(mask)
  const { memory, reply } = draft
  const { text, encoding } = reply
  for (const { messages } of memory.touched.values()) messages.replaceAdded((one) => maskMessage(masked, one))
  return { message: masked(userMessage, 'message'), reply: encoding === undefined ? maskReply(masked, text) : text }
}

/** Asks for each text once: memory and history get the same answer, also of a mask that numbers what it replaces. */
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

/**
 * A reply that is an object or a list in JSON stays one: clients may parse it, with whatever content type it is sent.
 */
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
 * Asks about each string and each number of a valid JSON text as it is written there, for what a parser drops would be
 * stored, too: a key that comes twice, digits for which a number has no room. All else is copied.
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
 * A part without reasoning and what only its provider can read: both may hold the texts, and a
 * signature is of the text itself.
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

/**
 * JSON with each string in it masked, each key, and each number as its digits: a number that changes becomes a string.
 */
function maskJson(mask: Mask, value: JsonValue, where: Place): JsonValue {
  if (typeof value === 'string') return mask(value, where)
  if (typeof value === 'number') {
    const digits = String(value)
    const masked = mask(digits, where)
    return masked === digits ? value : masked
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one: JsonValue) => maskJson(mask, one, where))
  // A session with a key of this name could not be loaded again.
  const entries = Object.entries(value).map(([key, one]) => {
    const name = mask(key, where)
    return [name === '__proto__' ? '' : name, maskJson(mask, one, where)] as const
  })
  return Object.fromEntries(entries)
}
