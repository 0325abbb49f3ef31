// Results that the real engine never gives, or hardly ever. testing/contract/http has the cases of the contract.
import { describe, expect, test } from 'vitest'
import { createFakeEngine, type FakeAnswers, resultOf } from '../../../testing/contract/http/fake-engine.js'
import { createFetchHandler, type FetchHandlerOptions } from '../index.js'

async function run(
  result: ReturnType<typeof resultOf>,
  { query = '', ...options }: FetchHandlerOptions & { query?: string } = {},
): Promise<Response> {
  const answers: FakeAnswers = { execute: () => result }
  return createFetchHandler(
    createFakeEngine(answers),
    options,
  )(new Request(`http://chat.example/ai/run${query}`, { method: 'POST', body: '{"flowName":"A"}' }))
}

/** The headers of a reply, without those that every reply has. */
const headersOf = (reply: Response): Record<string, string> => {
  const {
    'chat-request-id': id,
    'cache-control': caching,
    'x-content-type-options': sniffing,
    ...headers
  } = Object.fromEntries(reply.headers)
  expect([id, caching, sniffing]).toEqual([expect.any(String), 'no-store', 'nosniff'])
  return headers
}

describe('the content type of a raw reply', () => {
  test.each([
    ['text/csv', 'text/csv; charset=utf-8'],
    ['TEXT/CSV', 'TEXT/CSV; charset=utf-8'],
    ['text/csv; header=present', 'text/csv; header=present; charset=utf-8'],
    ['text/csv; charset=iso-8859-1', 'text/csv; charset=iso-8859-1'],
    ['text/csv; x=";charset=latin1"', 'text/csv; x=";charset=latin1"; charset=utf-8'],
    ['text/csv;Charset="utf-8"', 'text/csv;Charset="utf-8"'],
    ['application/json', 'application/json'],
    ['application/xml', 'application/xml'],
    ['image/svg+xml', 'image/svg+xml'],
  ])('%s is sent as %s', async (contentType, sent) => {
    const reply = await run(resultOf({ contentType, message: 'a' }))
    expect([reply.headers.get('content-type'), reply.headers.get('chat-reply')]).toEqual([sent, 'raw'])
  })

  test.each([
    ['a line break', 'text/csv\r\nX-Evil: 1'],
    ['a line break before a parameter', 'text/csv;\r\nX-Evil=1'],
    ['a line break in a quoted parameter', 'text/csv; a="b\r\nc"'],
    ['no subtype', 'text'],
    ['an empty subtype', 'text/'],
    ['a character above Latin-1', 'text/\u2028'],
  ])('one that cannot be a header goes out in the envelope: %s', async (_name, contentType) => {
    const reply = await run(resultOf({ contentType, message: 'a' }))
    expect(reply.status).toBe(200)
    expect(headersOf(reply)).toEqual({
      'content-type': 'application/json',
      'chat-reply': 'envelope',
      'chat-completed': 'false',
      'chat-session-state': 'running',
      chat_session_id: 's1',
    })
    await expect(reply.json()).resolves.toMatchObject({ success: true, contentType, message: 'a' })
  })

  test('an absent one is an envelope', async () => {
    const reply = await run(resultOf({ contentType: '' }))
    expect(reply.headers.get('chat-reply')).toBe('envelope')
  })
})

describe('bytes', () => {
  const png = resultOf({ contentType: 'image/png', message: 'iVBORw0KGgo=' }, { encoding: 'base64' })

  test('base64 is sent as decoded bytes', async () => {
    const reply = await run(png)
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]))
    expect(headersOf(reply)).not.toHaveProperty('chat-encoding')
  })

  test('in a requested envelope they stay base64, and a header marks it', async () => {
    const reply = await run(png, { query: '?envelope=1' })
    expect(headersOf(reply)).toMatchObject({ 'chat-reply': 'envelope', 'chat-encoding': 'base64' })
    await expect(reply.json()).resolves.toMatchObject({ message: 'iVBORw0KGgo=', contentType: 'image/png' })
  })

  test('in a plain reply they stay base64 too', async () => {
    const reply = await run(resultOf({ message: 'aGk=' }, { encoding: 'base64' }))
    expect(headersOf(reply)).toMatchObject({ 'chat-reply': 'envelope', 'chat-encoding': 'base64' })
  })

  test('invalid base64 goes out in the envelope instead of failing', async () => {
    const reply = await run(resultOf({ contentType: 'image/png', message: '***' }, { encoding: 'base64' }))
    expect([reply.status, reply.headers.get('chat-reply')]).toEqual([200, 'envelope'])
  })
})

describe('the query envelope=1', () => {
  test.each([
    ['?envelope=1', 'envelope'],
    ['?a=b&envelope=1', 'envelope'],
    ['?envelope=1#part', 'envelope'],
    ['?envelope=0', 'raw'],
    ['?envelope', 'raw'],
    ['?envelope=11', 'raw'],
    ['?xenvelope=1', 'raw'],
    ['', 'raw'],
  ])('%j makes the reply %s', async (query, kind) => {
    const reply = await run(resultOf({ contentType: 'text/csv' }), { query })
    expect(reply.headers.get('chat-reply')).toBe(kind)
  })

  test('the envelope carries the content type of the step, and no safety headers', async () => {
    const reply = await run(resultOf({ contentType: 'text/html', message: '<b>' }), { query: '?envelope=1' })
    expect(headersOf(reply)).toEqual({
      'content-type': 'application/json',
      'chat-reply': 'envelope',
      'chat-completed': 'false',
      'chat-session-state': 'running',
      chat_session_id: 's1',
    })
    await expect(reply.json()).resolves.toEqual({
      success: true,
      completed: false,
      message: '<b>',
      session: 's1',
      contentType: 'text/html',
    })
  })
})

describe('what a result cannot do', () => {
  test('a failure is never raw, whatever type it claims', async () => {
    const reply = await run(resultOf({ success: false, completed: true, message: 'no', contentType: 'text/html' }))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([400, 'application/json'])
    await expect(reply.json()).resolves.toEqual({
      success: false,
      completed: true,
      message: 'no',
      session: 's1',
      contentType: 'text/plain',
    })
  })

  test.each(['a\r\nX-Evil: 1', 'a b', 'ö', 'x'.repeat(257)])(
    'a session ID that cannot be a header is left out of the headers: %j',
    async (session) => {
      const reply = await run(resultOf({ session }))
      expect([reply.status, reply.headers.get('chat_session_id')]).toEqual([200, null])
      await expect(reply.json()).resolves.toMatchObject({ session })
    },
  )

  test.each(['\ud800', '\u0000', '\u2028', '"}'])('any text is sent: %j', async (message) => {
    const enveloped = await run(resultOf({ message }))
    await expect(enveloped.json()).resolves.toMatchObject({ message })
    const raw = await run(resultOf({ message, contentType: 'text/csv' }))
    expect(raw.status).toBe(200)
  })
})
