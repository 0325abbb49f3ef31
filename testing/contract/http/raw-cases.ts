// Raw replies: the body is the text or the bytes alone, and the headers say the rest (contract 2.4, 4.1; design 11).
import { expect } from 'vitest'
import { createEngine, type Envelope, runRequest, type Send, type Serve, type TestFunction } from './serve.js'

const typed = (send: Send, message: string, query = ''): Promise<Response> =>
  send(`/run${query}`, runRequest({ flowName: 'Typed', message }))

export function rawCases(test: TestFunction, serve: Serve): void {
  test('[4.1-6 4.1-7 2.4-3] a reply with another content type is its text alone, with the session in the header', async () => {
    const send = await serve(createEngine())
    const reply = await typed(send, 'text/csv name,seats\nMaple,12\n')
    expect(reply.status).toBe(200)
    expect(await reply.text()).toBe('name,seats\nMaple,12\n')
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(reply.headers.get('CHAT_SESSION_ID')).toMatch(/^[\w-]{32}$/)
    expect([reply.headers.get('Chat-Reply'), reply.headers.get('Chat-Completed')]).toEqual(['raw', 'false'])
  })

  test('[4.1-8 2.4-2] a plain reply stays in the envelope, a JSON reply is raw, and a header shows the format', async () => {
    const send = await serve(createEngine())
    const plain = await typed(send, 'text/plain hello')
    const json = await typed(send, 'application/json {"success":false}')
    expect([plain, json].map((reply) => reply.headers.get('content-type'))).toEqual([
      'application/json',
      'application/json',
    ])
    expect([plain, json].map((reply) => reply.headers.get('Chat-Reply'))).toEqual(['envelope', 'raw'])
    expect(await plain.json()).toMatchObject({ success: true, message: 'hello', contentType: 'text/plain' })
    expect(await json.text()).toBe('{"success":false}')
  })

  test('completed is not lost in a raw reply', async () => {
    const send = await serve(createEngine())
    const reply = await typed(send, 'end a,b')
    expect([await reply.text(), reply.headers.get('Chat-Completed')]).toEqual(['a,b', 'true'])
  })

  test('characters beyond ASCII go out as UTF-8', async () => {
    const send = await serve(createEngine())
    const reply = await typed(send, 'text/html <p>Zürich 😀</p>')
    expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(new TextDecoder('utf-8', { fatal: true }).decode(await reply.arrayBuffer())).toBe('<p>Zürich 😀</p>')
  })

  test('what withContentType accepts is sent with that type, and not in the envelope', async () => {
    const send = await serve(createEngine())
    for (const contentType of [
      'application/pdf;name="a\\b.pdf"',
      'application/pdf;name="a\\"b.pdf"',
      "application/pdf;name=utf-8'en'a%20b.pdf",
      'application/pdf;name=a|b',
    ]) {
      const reply = await typed(send, `${contentType} PDF`)
      expect([reply.headers.get('Chat-Reply'), reply.headers.get('content-type')]).toEqual(['raw', contentType])
      expect(await reply.text()).toBe('PDF')
    }
  })

  test('an empty raw reply has an empty body', async () => {
    const send = await serve(createEngine())
    const reply = await typed(send, 'text/csv ')
    expect([reply.status, await reply.text()]).toEqual([200, ''])
  })

  test('headers forbid browsers to guess, to keep, and to execute', async () => {
    const send = await serve(createEngine())
    const headersOf = async (type: string): Promise<(string | null)[]> => {
      const { headers } = await typed(send, `${type} <x/>`)
      return [
        headers.get('X-Content-Type-Options'),
        headers.get('Cache-Control'),
        headers.get('Content-Security-Policy'),
      ]
    }
    for (const type of [
      'text/html',
      'application/xhtml+xml',
      'image/svg+xml',
      'application/xml',
      'text/xml',
      'application/atom+xml',
    ]) {
      expect(await headersOf(type)).toEqual(['nosniff', 'no-store', 'sandbox'])
    }
    for (const type of ['text/csv', 'application/json', 'application/pdf']) {
      expect(await headersOf(type)).toEqual(['nosniff', 'no-store', null])
    }
  })

  test('rawHeaders changes what raw replies carry, and nothing of envelopes', async () => {
    const send = await serve(createEngine(), {
      rawHeaders: { 'content-security-policy': 'sandbox allow-scripts', 'Cache-Control': null, 'X-Report': 'yes' },
    })
    const html = await typed(send, 'text/html <p>')
    expect(['content-security-policy', 'cache-control', 'x-report'].map((name) => html.headers.get(name))).toEqual([
      'sandbox allow-scripts',
      null,
      'yes',
    ])
    const plain = await typed(send, 'text/plain a')
    expect([plain.headers.get('content-security-policy'), plain.headers.get('x-report')]).toEqual([null, null])
  })

  test('base64 is sent as its bytes', async () => {
    const send = await serve(createEngine())
    const reply = await send('/run', runRequest({ flowName: 'Bytes' }))
    expect([reply.headers.get('content-type'), reply.headers.get('Chat-Reply')]).toEqual(['image/png', 'raw'])
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]))
  })

  test('?envelope=1 asks for the envelope always, and a header says that it is base64', async () => {
    const send = await serve(createEngine())
    const text = await typed(send, 'text/html <p>', '?envelope=1')
    expect([
      text.headers.get('content-type'),
      text.headers.get('Chat-Reply'),
      text.headers.get('Chat-Encoding'),
    ]).toEqual(['application/json', 'envelope', null])
    expect((await text.json()) as Envelope).toMatchObject({ message: '<p>', contentType: 'text/html' })
    const bytes = await send('/run?envelope=1', runRequest({ flowName: 'Bytes' }))
    expect(bytes.headers.get('Chat-Encoding')).toBe('base64')
    expect(await bytes.json()).toMatchObject({ message: 'iVBORw0KGgo=', contentType: 'image/png' })
  })

  test('no content type that a flow makes up breaks a reply', async () => {
    const send = await serve(createEngine())
    for (const type of ['text/csv;\r\nX-Evil=1', 'text/csv\r\nX-Evil:', 'nonsense', 'text/\u2028', 'a/b;c="\r\n"']) {
      const reply = await typed(send, `${type} a`)
      expect(reply.status, type).toBeLessThan(500)
      expect(reply.headers.get('x-evil'), type).toBeNull()
      expect(await reply.text(), type).not.toBe('')
    }
  })
}
