/**
 * Checks that the descriptions of the message format agree: the page, the JSON Schema, the types, what the engine wrote
 * and what its codec reads.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Message, MessagePart, SessionDocument, StoredMessage } from '../../src/index.js'
import type { AttachmentReference } from '../../src/model/message.js'
import { describeRemoved } from '../../src/session/attachments.js'
import { decodeSession } from '../../src/session/session-codec.js'
import { sessionLayoutVersion } from '../../src/session/session-document.js'
import { goldenId, readDocument, readDocumentOfParts } from './golden/golden-files.js'
import { changedFields } from './golden/poison.js'

/** The fields of a part of this type, whether the session stores it or a model gets it. */
type FieldOf<Type extends MessagePart['type']> =
  | keyof Extract<MessagePart, { readonly type: Type }>
  | (Type extends AttachmentReference['type'] ? 'attachment' : never)

type FieldsOf = {
  readonly [Type in MessagePart['type']]: {
    readonly role: Message['role']
    readonly fields: Readonly<Record<FieldOf<Type>, true>>
  }
}

/** Every part and its fields, as the types have them: the compiler finds what is missing here. */
const parts: FieldsOf = {
  text: { role: 'user', fields: { type: true, text: true, providerData: true } },
  image: { role: 'user', fields: { type: true, mediaType: true, attachment: true, data: true, url: true } },
  file: {
    role: 'user',
    fields: { type: true, mediaType: true, attachment: true, data: true, url: true, name: true },
  },
  reasoning: { role: 'assistant', fields: { type: true, text: true, providerData: true } },
  'tool-call': {
    role: 'assistant',
    fields: { type: true, toolCallId: true, toolName: true, input: true, invalidInput: true, providerData: true },
  },
  'tool-result': {
    role: 'tool',
    fields: { type: true, toolCallId: true, toolName: true, output: true, isError: true },
  },
}

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8')

const page = read('message-format.md')
const schema = JSON.parse(read('message-format.schema.json'))
const memorySchema = z.fromJSONSchema(schema)

/** The definitions of parts, by the value of their `type`. */
const definitions = new Map<string, Readonly<Record<string, unknown>>>(
  Object.entries<{ properties?: Record<string, { const?: string }> }>(schema.$defs)
    .filter(([name]) => name.endsWith('Part'))
    .map(([, { properties = {} }]) => [properties.type?.const ?? '', properties]),
)

/** The sections about parts, by the type in their heading. */
const sections = new Map(
  Array.from(page.matchAll(/^### `([\w-]+)`\n([\s\S]*?)(?=^##)/gm), ([, type = '', text = '']) => [type, text]),
)

const golden = [readDocument(2), readDocumentOfParts(2)].map((text) => JSON.parse(text) as SessionDocument)

const examples = Array.from(page.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, text = '']) => JSON.parse(text)).filter(
  (example) => !('version' in example),
)

/** An example as messages: a list, one message, or one part. */
function messagesOf(example: MessagePart | Message | readonly Message[]): readonly StoredMessage[] {
  if (Array.isArray(example)) return example
  if ('role' in example) return [example]
  const part = example as MessagePart
  // Only answers have signatures.
  const role = 'providerData' in part ? 'assistant' : parts[part.type].role
  return [{ role, parts: [part], turn: 1 }]
}

function isInSchema(messages: unknown): boolean {
  return memorySchema.safeParse({ Chat: { messages } }).success
}

function isRead(messages: unknown): boolean {
  const document = JSON.parse(readDocument(2))
  document.flow.memory = { Chat: { messages: JSON.parse(JSON.stringify(messages)) } }
  try {
    decodeSession(document, goldenId)
    return true
  } catch {
    return false
  }
}

/** The rules that the messages of a namespace violate. */
function brokenRules(messages: readonly StoredMessage[]): string[] {
  const broken: string[] = []
  const open: string[] = []
  let last = 0
  for (const { role, parts: said, turn } of messages) {
    if (turn < last) broken.push(`turn ${turn} comes after turn ${last}`)
    if (turn > last && role !== 'user') broken.push(`turn ${turn} begins with ${role}`)
    last = turn
    if (role !== 'tool' && open.length > 0) broken.push(`${open.join(', ')} without a result`)
    for (const part of said) {
      if (part.type === 'tool-call') open.push(part.toolCallId)
      if (part.type === 'tool-result' && open.shift() !== part.toolCallId)
        broken.push(`${part.toolCallId} out of order`)
    }
    const isThought = said.some((part) => part.type === 'reasoning' || 'providerData' in part)
    if (isThought && !said.some(({ type }) => type === 'tool-call')) broken.push('thoughts beside no tool call')
  }
  return open.length > 0 ? [...broken, `${open.join(', ')} without a result`] : broken
}

describe('the page', () => {
  test('has a section for every part, with every field and an example', () => {
    expect([...sections.keys()].filter((name) => name !== 'providerData').sort()).toEqual(Object.keys(parts).sort())
    for (const [type, { fields }] of Object.entries(parts)) {
      const rows = Array.from((sections.get(type) ?? '').matchAll(/^\| `(\w+)` \|/gm), ([, field]) => field)
      expect([type, rows.sort()]).toEqual([type, Object.keys(fields).sort()])
      expect(sections.get(type)).toContain(`{ "type": "${type}", `)
    }
  })

  test('has examples that the engine reads and the schema allows', () => {
    expect(examples.length).toBeGreaterThan(9)
    for (const example of examples) {
      const messages = messagesOf(example)
      expect([example, isRead(messages), isInSchema(messages)]).toEqual([example, true, true])
    }
  })

  test('describes a turn that follows all its rules', () => {
    const turns = examples.filter(Array.isArray)
    expect(turns.map(brokenRules)).toEqual([[]])
  })

  test('has the texts that a model gets in place of removed bytes', () => {
    const references = examples.filter((example): example is AttachmentReference => 'attachment' in example)
    expect(references.map(({ type }) => type)).toEqual(['image', 'file'])
    const texts = examples.flatMap((example) => (example.type === 'text' ? example.text : []))
    expect(texts).toEqual(expect.arrayContaining(references.map(describeRemoved)))
  })

  test('names the layout version of this release', () => {
    expect(page).toContain(`{ "version": ${sessionLayoutVersion} }`)
  })
})

describe('the schema', () => {
  test('has every part, with every field', () => {
    const found = [...definitions].map(([type, properties]) => [type, Object.keys(properties).sort()])
    const expected = Object.entries(parts).map(([type, { fields }]) => [type, Object.keys(fields).sort()])
    expect(found.sort()).toEqual(expected.sort())
  })

  test('allows what releases wrote', () => {
    for (const { flow } of golden) {
      expect(memorySchema.safeParse(flow.memory)).toMatchObject({ success: true })
      for (const { messages } of Object.values(flow.memory)) expect(brokenRules(messages)).toEqual([])
    }
  })

  test('allows nothing that the engine does not read', () => {
    const counts = { allowed: 0, refused: 0 }
    for (const { flow } of golden) {
      for (const { name, text } of changedFields(JSON.stringify(flow.memory.Chat?.messages))) {
        const messages: unknown = JSON.parse(text)
        const allowed = isInSchema(messages)
        counts[allowed ? 'allowed' : 'refused']++
        if (allowed && !isRead(messages)) expect.unreachable(name)
      }
    }
    expect(counts.allowed).toBeGreaterThan(50)
    expect(counts.refused).toBeGreaterThan(counts.allowed)
  })

  const user = { role: 'user', turn: 1 }
  const image = { type: 'image', mediaType: 'image/png' }

  test.each<[string, unknown]>([
    ['a message of nobody', { role: 'system', parts: [], turn: 1 }],
    ['a user who said nothing', { ...user, parts: [] }],
    ['a user who calls a tool', { ...user, parts: [{ type: 'tool-call', toolCallId: 'a', toolName: 'b', input: {} }] }],
    ['an image of no kind', { ...user, parts: [{ type: 'image', data: 'aGk=' }] }],
    ['an image of another media type', { ...user, parts: [{ ...image, mediaType: 'text/plain', data: 'aGk=' }] }],
    ['an image without bytes', { ...user, parts: [image] }],
    ['an image with bytes here and there', { ...user, parts: [{ ...image, data: 'aGk=', attachment: '1-0' }] }],
    ['an image that refers to nothing', { ...user, parts: [{ ...image, attachment: '' }] }],
    ['an image in two places', { ...user, parts: [{ ...image, data: 'aGk=', url: 'https://a.example' }] }],
    ['bytes that are not base64', { ...user, parts: [{ ...image, data: 'a b' }] }],
    ['an address that is not absolute', { ...user, parts: [{ ...image, url: '/a.png' }] }],
    ['a summary that is not true', { ...user, parts: [{ type: 'text', text: 'a' }], summary: false }],
    ['half a turn', { ...user, parts: [{ type: 'text', text: 'a' }], turn: 0.5 }],
    [
      'a call without arguments',
      { role: 'assistant', parts: [{ type: 'tool-call', toolCallId: 'a', toolName: 'b' }], turn: 1 },
    ],
    [
      'a result without an output',
      { role: 'tool', parts: [{ type: 'tool-result', toolCallId: 'a', toolName: 'b' }], turn: 1 },
    ],
  ])('refuses %s', (_what, message) => {
    expect(isInSchema([message])).toBe(false)
  })

  test('lets a later release add fields', () => {
    const message = { ...user, parts: [{ type: 'text', text: 'a', language: 'en' }], at: '2026-01-01' }
    expect([isInSchema([message]), isRead([message])]).toEqual([true, true])
  })
})
