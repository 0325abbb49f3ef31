// The requests of each real package if an answer must match a schema, and if the user sent images and files.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Message, ModelRequest } from '../../../src/index.js'
import { generateFrom, linesOf, streamFrom } from './asking.js'
import { anthropicWire } from './wire/anthropic.js'
import { formats } from './wire/formats.js'
import { googleWire } from './wire/google.js'
import { openaiWire } from './wire/openai.js'
import { openaiChatWire } from './wire/openai-chat.js'
import { openaiCompatibleWire } from './wire/openai-compatible.js'
import type { WireFormat } from './wire/wire-format.js'
import { wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const output: ModelRequest['output'] = {
  name: 'parcel',
  schema: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
}

const messages: readonly Message[] = [
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'This' },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      { type: 'text', text: 'or this' },
      { type: 'image', mediaType: 'image/jpeg', url: 'https://pictures.example/a%20b.jpg?size=2' },
      { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjc=', name: 'bill.pdf' },
    ],
    turn: 1,
  },
]

type Asked = Parameters<typeof generateFrom>[1]

async function bodyFor(format: WireFormat, fields: Asked): Promise<object> {
  const subject = wireSubject(server, format, [{ text: '{"place":"Oldenburg"}' }])
  expect(await generateFrom(subject, fields)).toMatchObject({ response: { finishReason: 'stop' } })
  return subject.sent[0]?.body ?? {}
}

async function sentFor(format: WireFormat, fields: Asked): Promise<string> {
  return linesOf(await bodyFor(format, fields))
}

describe('an answer of a form', () => {
  test('of OpenAI', async () => {
    expect(await sentFor(openaiWire, { output })).toMatchInlineSnapshot(`
      "model: "gpt-5-mini"
      input:
      - {"role":"user","content":[{"type":"input_text","text":"Hi"}]}
      text: {"format":{"type":"json_schema","strict":true,"name":"parcel","schema":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false}}}"
    `)
  })

  test('of OpenAI, by chat completions', async () => {
    expect(await sentFor(openaiChatWire, { output })).toMatchInlineSnapshot(`
      "model: "gpt-4.1-mini"
      response_format: {"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false},"strict":true,"name":"parcel"}}
      messages:
      - {"role":"user","content":"Hi"}"
    `)
  })

  test('of Anthropic', async () => {
    expect(await sentFor(anthropicWire, { output })).toMatchInlineSnapshot(`
      "model: "claude-sonnet-4-5"
      max_tokens: 64000
      output_config: {"format":{"type":"json_schema","schema":{"type":"object","properties":{"place":{"type":"string"}},"additionalProperties":false,"required":["place"]}}}
      messages:
      - {"role":"user","content":[{"type":"text","text":"Hi"}]}"
    `)
  })

  test('of Google', async () => {
    expect(await sentFor(googleWire, { output })).toMatchInlineSnapshot(`
      "generationConfig: {"responseMimeType":"application/json","responseSchema":{"required":["place"],"type":"object","properties":{"place":{"type":"string"}}}}
      contents:
      - {"role":"user","parts":[{"text":"Hi"}]}"
    `)
  })

  test('of a server that is compatible with OpenAI', async () => {
    expect(await sentFor(openaiCompatibleWire, { output })).toMatchInlineSnapshot(`
      "model: "llama3.2"
      response_format: {"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"],"additionalProperties":false},"strict":true,"name":"parcel"}}
      messages:
      - {"role":"user","content":"Hi"}"
    `)
  })
})

describe('images and files', () => {
  test('of OpenAI', async () => {
    expect(await sentFor(openaiWire, { messages })).toMatchInlineSnapshot(`
      "model: "gpt-5-mini"
      input:
      - {"role":"user","content":[{"type":"input_text","text":"This"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_text","text":"or this"},{"type":"input_image","image_url":"https://pictures.example/a%20b.jpg?size=2"},{"type":"input_file","filename":"bill.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}]}"
    `)
  })

  test('of OpenAI, by chat completions', async () => {
    expect(await sentFor(openaiChatWire, { messages })).toMatchInlineSnapshot(`
      "model: "gpt-4.1-mini"
      messages:
      - {"role":"user","content":[{"type":"text","text":"This"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"or this"},{"type":"image_url","image_url":{"url":"https://pictures.example/a%20b.jpg?size=2"}},{"type":"file","file":{"filename":"bill.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}}]}"
    `)
  })

  test('of Anthropic', async () => {
    expect(await sentFor(anthropicWire, { messages })).toMatchInlineSnapshot(`
      "model: "claude-sonnet-4-5"
      max_tokens: 64000
      messages:
      - {"role":"user","content":[{"type":"text","text":"This"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"text","text":"or this"},{"type":"image","source":{"type":"url","url":"https://pictures.example/a%20b.jpg?size=2"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="},"title":"bill.pdf"}]}"
    `)
  })

  test('of Google', async () => {
    expect(await sentFor(googleWire, { messages })).toMatchInlineSnapshot(`
      "generationConfig: {}
      contents:
      - {"role":"user","parts":[{"text":"This"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"text":"or this"},{"fileData":{"mimeType":"image/jpeg","fileUri":"https://pictures.example/a%20b.jpg?size=2"}},{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0xLjc="}}]}"
    `)
  })

  test('of a server that is compatible with OpenAI', async () => {
    expect(await sentFor(openaiCompatibleWire, { messages })).toMatchInlineSnapshot(`
      "model: "llama3.2"
      messages:
      - {"role":"user","content":[{"type":"text","text":"This"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}},{"type":"text","text":"or this"},{"type":"image_url","image_url":{"url":"https://pictures.example/a%20b.jpg?size=2"}},{"type":"file","file":{"filename":"bill.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}}]}"
    `)
  })
})

describe.each(formats)('over $name', (format) => {
  test('a stream is requested with the same body', async () => {
    const whole = await bodyFor(format, { output, messages })
    const subject = wireSubject(server, format, [{ text: '{"place":"Oldenburg"}' }])
    const { response } = await streamFrom(subject, { output, messages })
    expect(response?.parts).toMatchObject([{ type: 'text', text: '{"place":"Oldenburg"}' }])
    const { stream: _stream, stream_options: _options, ...body } = subject.sent[0]?.body ?? {}
    expect(body).toEqual(whole)
  })

  test('a kind of file that the package cannot send fails before anything is sent, or is sent', async () => {
    const film = { type: 'file', mediaType: 'video/mp4', data: 'AAAA' } as const
    const subject = wireSubject(server, format, [{ text: 'Yes.' }])
    const { failure } = await generateFrom(subject, { messages: [{ role: 'user', parts: [film], turn: 1 }] })
    if (format === googleWire) return expect(subject.sent).toHaveLength(1)
    expect(failure).toMatchObject({ name: 'AI_UnsupportedFunctionalityError' })
    expect(failure?.isRetryable).toBeUndefined()
    expect(subject.sent).toHaveLength(0)
  })

  test('an address that cannot be fetched is refused before anything is sent', async () => {
    const image = { type: 'image', mediaType: 'image/png', url: 'file:///etc/passwd' } as const
    const subject = wireSubject(server, format, [])
    const asked = { messages: [{ role: 'user', parts: [image], turn: 1 }] } as const
    for (const ask of [generateFrom, streamFrom]) {
      expect((await ask(subject, asked)).failure).toMatchObject({ code: 'INVALID_INPUT' })
    }
    expect(subject.sent).toHaveLength(0)
  })
})
