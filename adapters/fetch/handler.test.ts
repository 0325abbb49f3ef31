import { describe, expect, test } from 'vitest'
import { FlowEngine } from '../../src/index.js'
import { createFakeEngine, type FakeEngine, resultOf } from '../../testing/contract/http/fake-engine.js'
import { Context } from '../../testing/contract/http/flows.js'
import { type AuthorizedCaller, createFetchHandler, type FetchHandlerOptions } from './index.js'

function serve(options: FetchHandlerOptions = {}, engine: FakeEngine = createFakeEngine()) {
  const handler = createFetchHandler(engine, options)
  const send = (path: string, init?: RequestInit): Promise<Response> =>
    handler(new Request(`http://chat.example${path}`, init))
  const run = (headers: Record<string, string> = {}): Promise<Response> =>
    send('/ai/run', { method: 'POST', headers, body: '{"flowName":"A","message":"hi"}' })
  return { engine, handler, send, run }
}

describe('the path', () => {
  test.each([
    ['/ai', '/ai/flows'],
    ['/', '/flows'],
    ['/v1/chat', '/v1/chat/flows'],
  ])('basePath %s serves %s', async (basePath, path) => {
    const { send } = serve({ basePath })
    await expect(send(path).then((reply) => reply.json())).resolves.toEqual(['Booking', 'Support'])
    await expect(send(`${path}?x=/ai/flows`).then((reply) => reply.status)).resolves.toBe(200)
    await expect(send(`${path}#part`).then((reply) => reply.status)).resolves.toBe(200)
  })

  test.each(['/', '/ai', '/ai/', '/ai/flows/', '/ai/flows/x', '/x/ai/flows', '/ai//flows', '/AI/flows', '/?/ai/flows'])(
    '%s is not a route',
    async (path) => {
      const reply = await serve().send(path)
      expect(reply.status).toBe(404)
    },
  )

  test('an origin without a path is not a route either', async () => {
    const { handler } = serve({ basePath: '/' })
    const reply = await handler(new Request('http://chat.example'))
    expect(reply.status).toBe(404)
  })
})

describe('what reaches the engine', () => {
  test('the fields of the request and nothing else', async () => {
    const { engine, send } = serve()
    await send('/ai/run', {
      method: 'POST',
      headers: { CHAT_SESSION_ID: 's7' },
      body: '{"flowName":"A","message":"hi","config":{"a":1},"owner":"x","serverContext":{"admin":true},"sessionId":"y"}',
    })
    const [input] = engine.inputs
    const { signal, ...rest } = input ?? {}
    expect(rest).toEqual({ flowName: 'A', userMessage: 'hi', sessionId: 's7', config: { a: 1 } })
    expect(signal).toBeInstanceOf(AbortSignal)
    expect(signal?.aborted).toBe(false)
  })

  test('no signal from a runtime that gives a request none', async () => {
    const { engine, handler } = serve()
    const request = new Request('http://chat.example/ai/run', { method: 'POST', body: '{"flowName":"A"}' })
    Object.defineProperty(request, 'signal', { value: undefined })
    await handler(request)
    expect(Object.keys(engine.inputs[0] ?? {}).sort()).toEqual(['flowName', 'userMessage'])
  })

  test('a field that was not sent is absent, not undefined', async () => {
    const { engine, run } = serve()
    await run()
    expect(Object.keys(engine.inputs[0] ?? {}).sort()).toEqual(['flowName', 'signal', 'userMessage'])
  })

  test('the signal of the request, which fires when the client goes away', async () => {
    const client = new AbortController()
    const fired = new Promise<unknown>((resolve) => {
      const engine = createFakeEngine({
        execute: ({ signal }) =>
          new Promise((answer) => {
            signal?.addEventListener('abort', () => {
              resolve(signal.reason)
              answer(resultOf({ success: false }))
            })
            client.abort('gone')
          }),
      })
      void createFetchHandler(engine)(
        new Request('http://chat.example/ai/run', { method: 'POST', body: '{"flowName":"A"}', signal: client.signal }),
      )
    })
    await expect(fired).resolves.toBe('gone')
  })

  test('a signal that has fired, if the client went away while its body was read', async () => {
    const client = new AbortController()
    const { engine, handler } = serve()
    const init = { method: 'POST', body: '{"flowName":"A"}', signal: client.signal }
    const reply = handler(new Request('http://chat.example/ai/run', init))
    client.abort('gone')
    await reply
    expect([engine.inputs[0]?.signal?.aborted, engine.inputs[0]?.signal?.reason]).toEqual([true, 'gone'])
  })
})

describe('authorize', () => {
  test('a principal becomes the owner, and context the server context', async () => {
    const { engine, run, send } = serve({ authorize: () => ({ principal: 'u1', context: { plan: 'pro' } }) })
    await run({ CHAT_SESSION_ID: 's7' })
    await send('/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: 's7' } })
    expect(engine.inputs[0]).toMatchObject({ owner: 'u1', serverContext: { plan: 'pro' } })
    expect(engine.deletions).toEqual([['s7', { owner: 'u1' }]])
  })

  test.each([
    ['nothing', () => undefined],
    ['an empty object', async () => ({})],
  ])('a caller without a name is let in with %s, and owns nothing', async (_name, authorize) => {
    const { engine, run, send } = serve({ authorize })
    await run()
    await send('/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: 's7' } })
    expect(Object.keys(engine.inputs[0] ?? {})).not.toContain('owner')
    expect(engine.deletions).toEqual([['s7', {}]])
  })

  test.each<[string, Record<string, unknown>, string]>([
    [
      'a Date',
      { at: new Date(0) },
      'authorize returned an invalid context. context.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    ['a config', { config: {} }, "authorize returned an invalid context. context may not have the key 'config'."],
    ['a Map', new Map() as never, 'authorize returned an invalid context. context must be a plain object.'],
    [
      'too many levels',
      { a: { b: {} } },
      'authorize returned an invalid context. The nesting of context.a.b exceeds the limit maxJsonDepth (2).',
    ],
  ])(
    'a context with %s is a mistake of authorize: the operator reads which, the client does not',
    async (_name, context, message) => {
      const engine = new FlowEngine({ flows: [Context], limits: { maxJsonDepth: 2 } })
      for (const accept of ['application/json', 'text/event-stream']) {
        const reported: unknown[] = []
        const authorize = (): AuthorizedCaller => ({ principal: 'u1', context: context as never })
        const handler = createFetchHandler(engine, {
          authorize,
          onError: (error) => reported.push(error),
          statuses: 'precise',
        })
        const reply = await handler(
          new Request('http://chat.example/ai/run', {
            method: 'POST',
            headers: { Accept: accept },
            body: '{"flowName":"Context","message":"hi"}',
          }),
        )
        expect(reply.status).toBe(500)
        expect(await reply.json()).toMatchObject({ success: false, message: 'The request could not be authorized.' })
        expect(reported).toEqual([new TypeError(message, { cause: expect.anything() })])
      }
      await engine.close()
    },
  )

  test('without authorize a delete removes an unreadable session, but not one from a newer release', async () => {
    const { engine, send } = serve()
    await send('/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: 's7' } })
    expect(engine.deletions).toEqual([['s7', { unreadable: true }]])
  })

  test.each<[string, unknown]>([
    ['false', false],
    ['an empty principal', { principal: '' }],
    ['a principal that is undefined', { principal: undefined }],
    ['a decoded token', { sub: 'u1', iat: 1 }],
    ['a context that is a list', { context: [] }],
  ])('an answer that is not valid refuses the request: %s', async (_name, answer) => {
    const reported: unknown[] = []
    const { engine, run, send } = serve({
      authorize: (() => answer) as never,
      onError: (error) => reported.push(error),
    })
    for (const reply of [await run(), await send('/ai/flows'), await send('/ai/end', { method: 'POST' })]) {
      expect(reply.status).toBe(400)
      await expect(reply.json()).resolves.toMatchObject({ message: 'The request could not be authorized.' })
    }
    expect([engine.inputs, engine.deletions]).toEqual([[], []])
    expect(reported).toEqual(Array.from({ length: 3 }, () => expect.any(TypeError)))
  })

  test('with requirePrincipal a caller without a principal is refused', async () => {
    const reported: unknown[] = []
    const onError = (error: unknown): unknown => reported.push(error)
    const { engine, run } = serve({ authorize: () => undefined, requirePrincipal: true, onError })
    await expect(run().then((reply) => reply.json())).resolves.toMatchObject({
      message: 'The request could not be authorized.',
    })
    const sentence =
      'authorize returned no principal, which requirePrincipal asks for. To refuse a caller, return a Response.'
    expect([engine.inputs, reported]).toEqual([[], [new TypeError(sentence)]])
  })

  test('may read a copy of the body; reading the body itself refuses the request', async () => {
    const copying = serve({ authorize: async (request) => void (await request.clone().text()) })
    await expect(copying.run().then((reply) => reply.status)).resolves.toBe(200)
    const consuming = serve({ authorize: async (request) => void (await request.text()) })
    const reply = await consuming.run()
    await expect(reply.json()).resolves.toMatchObject({
      message: expect.stringMatching(/^The request body was read before the handler got the request, /),
    })
    expect(consuming.engine.inputs).toEqual([])
  })

  test('a Response of authorize is sent as it is, with the CORS headers added and its Vary kept', async () => {
    const authorize = (): Response =>
      new Response('Sign in first.', {
        status: 401,
        statusText: 'Who',
        headers: { 'WWW-Authenticate': 'Bearer', Vary: 'Cookie' },
      })
    const reply = await serve({ authorize, cors: { origin: 'https://a.example' } }).run({ Origin: 'https://a.example' })
    expect([reply.status, reply.statusText, await reply.text()]).toEqual([401, 'Who', 'Sign in first.'])
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'www-authenticate': 'Bearer',
      vary: 'Cookie, Origin',
      'access-control-allow-origin': 'https://a.example',
    })
  })

  test('a redirect, whose headers are immutable, gets them too', async () => {
    const authorize = (): Response => Response.redirect('https://login.example/')
    const reply = await serve({ authorize, cors: { origin: '*' } }).run({ Origin: 'https://a.example' })
    expect([reply.status, reply.headers.get('location'), reply.headers.get('access-control-allow-origin')]).toEqual([
      302,
      'https://login.example/',
      '*',
    ])
  })

  test('a Response of another class is recognised too', async () => {
    const headers = new Headers({ 'X-A': 'b' })
    const foreign = { status: 403, statusText: '', headers, body: null, [Symbol.toStringTag]: 'Response' }
    const reply = await serve({ authorize: () => foreign as unknown as Response, cors: { origin: '*' } }).run()
    expect([reply.status, reply.headers.get('x-a')]).toEqual([403, 'b'])
  })

  test('is not called for an unknown path, for a wrong method, or on a preflight', async () => {
    let asked = 0
    const { send } = serve({ cors: { origin: '*' }, authorize: () => void asked++ })
    await send('/ai/nothing')
    await send('/ai/run')
    await send('/ai/run', { method: 'OPTIONS', headers: { Origin: 'https://a.example' } })
    expect(asked).toBe(0)
  })
})

describe('an engine or a reporter that fails', () => {
  const broken = (): FakeEngine =>
    createFakeEngine({
      execute: () => {
        throw new Error('password=hunter2')
      },
    })

  test('the client gets a fixed sentence, and onError gets the error', async () => {
    const reported: unknown[] = []
    const reply = await serve({ onError: (error) => reported.push(error) }, broken()).run()
    expect(reply.status).toBe(400)
    await expect(reply.json()).resolves.toEqual({
      success: false,
      completed: true,
      message: 'The request could not be handled.',
      session: '',
      contentType: 'text/plain',
    })
    expect(reported).toEqual([new Error('password=hunter2')])
  })

  test('with precise statuses it is 500, and a reporter that throws changes nothing', async () => {
    const onError = (): void => {
      throw new Error('log is down')
    }
    await expect(
      serve({ onError, statuses: 'precise' }, broken())
        .run()
        .then((reply) => reply.status),
    ).resolves.toBe(500)
  })
})

test('HEAD on the flows answers with the headers of GET and no body', async () => {
  const reply = await serve().send('/ai/flows', { method: 'HEAD' })
  expect([reply.status, reply.headers.get('content-type'), await reply.text()]).toEqual([200, 'application/json', ''])
})

test('HEAD on another route is 405 without a body', async () => {
  const reply = await serve().send('/ai/run', { method: 'HEAD' })
  expect([reply.status, reply.headers.get('allow'), await reply.text()]).toEqual([405, 'POST', ''])
})

test("the engine's limit bounds the depth of a body", async () => {
  const engine = createFakeEngine({ maxJsonDepth: 2, execute: () => resultOf() })
  const tooDeep = { method: 'POST', body: '{"flowName":"A","config":{"a":{}}}' }
  const reply = await serve({}, engine).send('/ai/run', tooDeep)
  expect(reply.status).toBe(400)
  await expect(reply.json()).resolves.toMatchObject({
    message: 'The request body is nested deeper than 2 levels (maxJsonDepth).',
  })
  expect((await serve({ statuses: 'precise' }, engine).send('/ai/run', tooDeep)).status).toBe(422)
})
