/**
 * The texts of a conversation as span attributes, only with `content: true` of `instrumentEngine`. The format is the
 * JSON of the semantic conventions (`names.ts`). Bytes and URLs of images and files are left out: bytes are large, and
 * URLs can be secret.
 */
import type { Attributes } from '@opentelemetry/api'
import type { EngineEventMap, ReplyPart } from '../../src/index.js'
import { attribute } from './names.js'

type Call = EngineEventMap['model:content']
type Part = Call['answer'][number]

/** The attributes of the span of a model attempt. */
export function contentOfModel({ system, messages, answer }: Call): Attributes {
  const attributes: Attributes = { [attribute.inputMessages]: JSON.stringify(messages.map(messageOf)) }
  if (system !== undefined) attributes[attribute.systemInstructions] = JSON.stringify([textOf(system)])
  if (answer.length > 0) {
    attributes[attribute.outputMessages] = JSON.stringify([messageOf({ role: 'assistant', parts: answer })])
  }
  return attributes
}

/** The attributes of the span of a turn. */
export function contentOfTurn({ entry }: EngineEventMap['turn:content']): Attributes {
  if (entry === undefined) return {}
  const { message, reply, contentType, encoding, parts = [], event } = entry
  const said = encoding === undefined ? textOf(reply) : { type: 'file', mime_type: contentType }
  const input = { [attribute.inputMessages]: JSON.stringify([{ role: 'user', parts: [textOf(message)] }]) }
  const output = {
    [attribute.outputMessages]: JSON.stringify([{ role: 'assistant', parts: [said, ...parts.map(tracedPart)] }]),
  }
  // An event is no message, and may be taken in silence.
  return { ...(event === undefined && input), ...((event === undefined || reply !== '') && output) }
}

function messageOf({ role, parts }: { readonly role: string; readonly parts: readonly Part[] }) {
  return { role, parts: parts.map(partOf) }
}

function textOf(content: string) {
  return { type: 'text', content }
}

function tracedPart(part: ReplyPart) {
  return part.type === 'file' ? { type: 'file', mime_type: part.mediaType } : part
}

function partOf(part: Part) {
  switch (part.type) {
    case 'text':
      return textOf(part.text)
    case 'reasoning':
      return { type: 'reasoning', content: part.text }
    case 'tool-call':
      return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input }
    case 'tool-result':
      return { type: 'tool_call_response', id: part.toolCallId, response: part.output }
    default:
      return { type: part.type, mime_type: part.mediaType }
  }
}
