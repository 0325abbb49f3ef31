// Requests that are refused before the engine runs anything: each with its own sentence, 400, and nothing stored.
import { expect } from 'vitest'
import { createEngine, type Envelope, failure, runRequest, type Send, type Serve, type TestFunction } from './serve.js'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
const idShape =
  'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.'

export function badRequestCases(test: TestFunction, serve: Serve): void {
  /** Serves an engine that counts turns, sends what the case sends, and checks that no turn ran. */
  async function expectRefused(
    message: string,
    sendAll: (send: Send) => Promise<Response>[],
    options: Parameters<Serve>[1] = {},
  ): Promise<void> {
    const engine = createEngine()
    let turns = 0
    engine.on('turn:start', () => turns++)
    const send = await serve(engine, options)
    for (const reply of await Promise.all(sendAll(send))) {
      expect(reply.status).toBe(400)
      expect(reply.headers.get('content-type')).toBe('application/json')
      expect([reply.headers.get('Chat-Reply'), reply.headers.get('Chat-Completed')]).toEqual(['envelope', 'true'])
      expect(reply.headers.get('CHAT_SESSION_ID')).toBeNull()
      expect((await reply.json()) as Envelope).toEqual(failure(message))
    }
    expect(turns).toBe(0)
  }

  const bodies: readonly (readonly [message: string, ...bodies: string[]])[] = [
    [
      'The request body is not valid JSON.',
      '',
      'flowName=Greeting',
      '{"flowName":"Greeting"',
      '\ufeff\ufeff{}',
      '{"flowName":"Greeting"}}',
    ],
    ['The request body must be a JSON object.', 'null', '"x"', '1', '[]', 'true'],
    [
      "The field 'flowName' is required and must be a non-empty string.",
      '{}',
      '{"flowName":""}',
      '{"flowName":null}',
      '{"flowName":["Greeting"]}',
    ],
    [
      "The field 'message' must be a string.",
      '{"flowName":"Greeting","message":null}',
      '{"flowName":"Greeting","message":{"toString":1}}',
    ],
    [
      "The field 'config' must be an object.",
      '{"flowName":"Greeting","config":null}',
      '{"flowName":"Greeting","config":[1]}',
      '{"flowName":"Greeting","config":"x"}',
    ],
    [
      'The request body is nested deeper than 64 levels (maxJsonDepth).',
      nested(10_000),
      `{"flowName":"Greeting","config":{"a":${nested(63)}}}`,
      `{"flowName":"Greeting","other":${nested(10_000)}}`,
    ],
    [
      'The request body has more than 30000 values (maxJsonValues).',
      nested(50_000),
      `{"flowName":"Greeting","other":[${'0,'.repeat(30_000)}0]}`,
      `{"flowName":"Greeting","config":{${'"":{},'.repeat(15_000)}"a":1}}`,
      // It is not parsed, so its other faults are not found.
      ','.repeat(30_001),
    ],
  ]
  for (const [message, ...texts] of bodies) {
    test(`a bad body: ${message}`, () =>
      expectRefused(message, (send) => texts.map((text) => send('/run', runRequest(text)))))
  }

  test('config with an own __proto__ is refused, and nothing of it reaches a prototype', async () => {
    const engine = createEngine()
    const send = await serve(engine)
    for (const config of ['{"__proto__":{"admin":true}}', '{"deep":{"__proto__":{"admin":true}}}']) {
      const reply = await send('/run', runRequest(`{"flowName":"Context","config":${config}}`))
      expect(reply.status).toBe(400)
      const { message, success } = (await reply.json()) as Envelope
      expect(success).toBe(false)
      expect(message).toMatch(/config.*__proto__/)
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  test('invalid UTF-8 is refused, with a declared length and without', async () => {
    const head = new TextEncoder().encode('{"flowName":"Greeting","message":"')
    const bytes = Uint8Array.from([...head, 0xff, 0xfe, 0x22, 0x7d])
    const stream = (): ReadableStream<Uint8Array> => new Blob([bytes]).stream()
    await expectRefused('The request body is not valid UTF-8.', (send) => [
      send('/run', { method: 'POST', body: bytes }),
      send('/run', { method: 'POST', body: stream(), duplex: 'half' } as RequestInit),
    ])
  })

  test('a body over the limit is refused, with a declared length and without', async () => {
    const text = JSON.stringify({ flowName: 'Greeting', message: 'x'.repeat(3 * 1024 * 1024) })
    await expectRefused('The request body is larger than 1048576 bytes (maxBodyBytes).', (send) => [
      send('/run', runRequest(text, { 'Content-Length': String(text.length) })),
      send('/run', { method: 'POST', body: new Blob([text]).stream(), duplex: 'half' } as RequestInit),
    ])
  })

  test('maxBodyBytes counts bytes, and lets exactly that many through', async () => {
    const engine = createEngine()
    const text = JSON.stringify({ flowName: 'Typed', message: 'text/plain ä€😀' })
    const size = new TextEncoder().encode(text).length
    const enough = await serve(engine, { maxBodyBytes: size })
    expect((await enough('/run', runRequest(text))).status).toBe(200)
    const tooFew = await serve(engine, { maxBodyBytes: size - 1 })
    expect((await tooFew('/run', runRequest(text))).status).toBe(400)
  })

  test('a body that a foreign page could send as a form is refused; any type is fine without an Origin', async () => {
    const body = '{"flowName":"Greeting"}'
    await expectRefused('The request body must be sent as application/json.', (send) =>
      ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'].map((type) =>
        send('/run', { method: 'POST', headers: { Origin: 'https://evil.example', 'Content-Type': type }, body }),
      ),
    )
    await expectRefused('The request body must be sent as application/json.', (send) => [
      send('/run', { method: 'POST', headers: { Origin: 'null' }, body: new TextEncoder().encode(body) }),
    ])
    const send = await serve(createEngine())
    for (const headers of [
      { 'Content-Type': 'text/plain' },
      {},
      { 'Content-Type': 'application/json; charset=utf-8', Origin: 'https://a.example' },
    ]) {
      const reply = await send('/run', {
        method: 'POST',
        headers: headers as Record<string, string>,
        body: new TextEncoder().encode(body),
      })
      expect(reply.status).toBe(200)
    }
  })

  test('a POST of a page of another site that hides its origin is refused', async () => {
    const init = runRequest({ flowName: 'Greeting' }, { 'Sec-Fetch-Site': 'cross-site' })
    await expectRefused('A request of another site must have the header Origin.', (send) => [
      send('/run', init),
      send('/end', { method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } }),
      send('/cancel', { method: 'POST', headers: { 'Sec-Fetch-Site': 'cross-site' } }),
    ])
    const send = await serve(createEngine())
    const headers = { 'Sec-Fetch-Site': 'cross-site' }
    expect((await send('/flows', { headers })).status).toBe(200)
    const named = runRequest({ flowName: 'Greeting' }, { ...headers, Origin: 'https://a.example' })
    expect((await send('/run', named)).status).toBe(200)
    expect((await send('/run', runRequest({ flowName: 'Greeting' }, { 'Sec-Fetch-Site': 'same-site' }))).status).toBe(
      200,
    )
  })

  test('a session ID that cannot be one is refused', () =>
    expectRefused(idShape, (send) =>
      ['a,b', 'a b', 'x'.repeat(257), 'x'.repeat(8_000), 'caf\u00e9'].flatMap((id) => [
        send('/run', runRequest({ flowName: 'Greeting' }, { CHAT_SESSION_ID: id })),
        send('/run', runRequest({ flowName: 'Greeting' }, { 'Chat-Session-Id': id })),
      ]),
    ))

  test('two session headers that differ are refused', () =>
    expectRefused('The headers CHAT_SESSION_ID and Chat-Session-Id carry different session IDs.', (send) => [
      send('/run', runRequest({ flowName: 'Greeting' }, { CHAT_SESSION_ID: 'a', 'Chat-Session-Id': 'b' })),
      send('/run', runRequest({ flowName: 'Greeting' }, { CHAT_SESSION_ID: '', 'Chat-Session-Id': 'b' })),
    ]))
}
