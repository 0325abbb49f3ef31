// Streams of the real packages on the wire: however the network splits them, and whatever happens in the middle.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSuiteReply } from '../../suites/index.js'
import { generateFrom, streamFrom } from './asking.js'
import { anthropicWire } from './wire/anthropic.js'
import { formats } from './wire/formats.js'
import { openaiChatWire } from './wire/openai-chat.js'
import { chunkings } from './wire/server-sent-events.js'
import type { WireAnswer } from './wire/wire-answer.js'
import { wireSubject } from './wire-subject.js'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

/** Everything that an answer can have, with characters of two, three and four bytes in each part. */
const everything: ModelSuiteReply = {
  reasoning: 'Größe egal: 本 📦?',
  text: 'Grüße! 本屋 sends it 📚 today.\n\ndata: no event\r\nagain',
  toolCalls: [
    { id: 'call-1', name: 'look_up', input: { order: 'Ä-1', note: '"quoted" \\ 本\n' } },
    { id: 'call-2', name: 'look_up', input: { order: '📦' } },
  ],
  usage: { inputTokens: 21, outputTokens: 8, cachedInputTokens: 5, reasoningTokens: 3 },
}

const encoder = new TextEncoder()

function sse(events: readonly string[]): WireAnswer {
  const headers = { 'content-type': 'text/event-stream', 'retry-after': '7' }
  return { status: 200, headers, chunks: [encoder.encode(events.join(''))], ending: 'end' }
}

describe.each(formats)('over $name', (format) => {
  test.each(Object.entries(chunkings))('an answer whose bytes come %s is the same', async (_name, chunking) => {
    const generated = await generateFrom(wireSubject(server, format, [everything]))
    const { response } = await streamFrom(wireSubject(server, format, [everything], { chunking }))
    expect(response?.parts.map(({ type }) => type).filter((type) => type !== 'reasoning')).toEqual([
      'text',
      'tool-call',
      'tool-call',
    ])
    expect(response).toEqual(generated.response)
  })

  test('a comment and an event of a type that is not known yet are passed over', async () => {
    const events = format.events({ text: 'Yes.' })
    const subject = wireSubject(server, format, [], { send: () => sse([': keep-alive\n\n', ...events]) })
    expect((await streamFrom(subject)).response).toMatchObject({ parts: [{ type: 'text', text: 'Yes.' }] })
  })

  test('an answer that ends before its finish reason is not an answer', async () => {
    const events = format.events({ text: 'It is on its way.' })
    // An answer is complete without the last events.
    const needed = events.findIndex((event) => /"(stop|STOP|end_turn|response\.completed)"/.test(event))
    for (let count = 0; count <= needed; count++) {
      const subject = wireSubject(server, format, [], { send: () => sse(events.slice(0, count)) })
      const { response, failure } = await streamFrom(subject)
      expect([count, response, failure?.isRetryable]).toEqual([count, undefined, true])
    }
    expect(needed).toBeGreaterThan(0)
  })

  test('an event that is cut in its middle is not an event', async () => {
    const events = format.events({ text: 'It is on its way.' })
    const bytes = events.slice(0, -1).join('').length - 20
    const subject = wireSubject(server, format, [], { send: () => sse([events.join('').slice(0, bytes / 2)]) })
    expect((await streamFrom(subject)).failure).toMatchObject({ isRetryable: true })
  })

  test('a server that fails in the middle may be asked again', async () => {
    const { pieces, failure } = await streamFrom(wireSubject(server, format, [{ failure: 'broken-off' }]))
    expect(pieces).toEqual([{ type: 'text-delta', text: 'It is' }])
    expect(failure).toMatchObject({ isRetryable: true })
  })

  test('a server that fails with its first event may be asked again', async () => {
    const subject = wireSubject(server, format, [], { send: () => sse([format.overloadedEvent]) })
    expect(await streamFrom(subject)).toMatchObject({ pieces: [], failure: { isRetryable: true } })
  })

  test.each([
    ['rate-limit', 429],
    ['server-error', 500],
    ['overloaded', 529],
  ] as const)('a stream that does not begin, %s, fails as a call without one', async (failure, statusCode) => {
    const streamed = await streamFrom(wireSubject(server, format, [{ failure }]))
    const generated = await generateFrom(wireSubject(server, format, [{ failure }]))
    const fields = { name: 'AI_APICallError', statusCode, isRetryable: true }
    expect(streamed.failure).toMatchObject(fields)
    expect(generated.failure).toMatchObject(fields)
    if (failure !== 'rate-limit') return
    expect(streamed.failure?.responseHeaders).toMatchObject({ 'retry-after': '1' })
    expect(generated.failure?.responseHeaders).toMatchObject({ 'retry-after': '1' })
  })
})

test('an overload of Anthropic has its status if it comes before everything else', async () => {
  const subject = wireSubject(server, anthropicWire, [], { send: () => sse([anthropicWire.overloadedEvent]) })
  expect((await streamFrom(subject)).failure).toMatchObject({
    statusCode: 529,
    isRetryable: true,
    responseHeaders: { 'retry-after': '7' },
  })
})

test('a quota that is used up is not tried again', async () => {
  const quota = { error: { message: 'Pay.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' } }
  const events = [...openaiChatWire.events({ text: 'It is' }).slice(0, 2), `data: ${JSON.stringify(quota)}\n\n`]
  const subject = wireSubject(server, openaiChatWire, [], { send: () => sse(events) })
  expect((await streamFrom(subject)).failure).toMatchObject({ isRetryable: false, cause: quota.error })
})
