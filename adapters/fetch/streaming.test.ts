// How the handler opens a stream, over a fake engine. testing/contract/http tests the streams of a real engine on every
// kind of server.
import { describe, expect, test } from 'vitest'
import { FlowNotFoundError } from '../../src/errors/engine-errors.js'
import { type FlowStreamEvent, SessionConflictError } from '../../src/index.js'
import { createFakeEngine, type FakeEngine } from '../../testing/contract/http/fake-engine.js'
import { FakeStream } from '../../testing/contract/http/fake-stream.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

const response = { success: true, completed: false, message: 'Hi.', session: 's1', contentType: 'text/plain' }
const failed = { ...response, success: false, completed: true, message: 'No.' }
const events: readonly FlowStreamEvent[] = [
  { type: 'session', session: 's1' },
  { type: 'text-delta', text: 'Hi.' },
  { type: 'result', response, sessionState: 'running' },
]

function serve(stream: FakeStream = new FakeStream(...events), options: FetchHandlerOptions = {}) {
  const engine: FakeEngine = createFakeEngine({ stream: () => stream })
  const handler = createFetchHandler(engine, options)
  const run = (headers: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    handler(
      new Request('http://chat.example/ai/run', {
        method: 'POST',
        headers: { Accept: 'text/event-stream', ...headers },
        body: '{"flowName":"A","message":"hi"}',
        ...init,
      }),
    )
  return { engine, stream, run }
}

describe('a streamed reply', () => {
  test('has the headers that prevent buffering, caching and content sniffing', async () => {
    const { run } = serve()
    const reply = await run()
    expect(reply.status).toBe(200)
    expect(Object.fromEntries(reply.headers)).toEqual({
      'chat-request-id': expect.any(String),
      'cache-control': 'no-store, no-transform',
      'chat-reply': 'stream',
      chat_session_id: 's1',
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    await reply.body?.cancel()
  })

  test('has every piece of the turn', async () => {
    const { run } = serve()
    expect(await (await run()).text()).toBe(
      'event: session\nid: 1\ndata: {"session":"s1"}\n\n' +
        'event: text-delta\nid: 2\ndata: {"text":"Hi."}\n\n' +
        'event: result\nid: 3\ndata: {"success":true,"completed":false,"message":"Hi.","session":"s1","contentType":"text/plain","sessionState":"running"}\n\n',
    )
  })

  test('names the session in both headers if the request used the one with dashes', async () => {
    const { run } = serve()
    const { headers, body } = await run({ 'Chat-Session-Id': 's1' })
    expect([headers.get('CHAT_SESSION_ID'), headers.get('Chat-Session-Id')]).toEqual(['s1', 's1'])
    await body?.cancel()
  })

  test('has no session header if the ID is not a valid header value', async () => {
    const { run } = serve(new FakeStream({ type: 'session', session: 'a\r\nb' }))
    const { status, headers, body } = await run()
    expect([status, headers.get('CHAT_SESSION_ID')]).toEqual([200, null])
    await body?.cancel()
  })

  test('may be read by the pages that cors names', async () => {
    const { run } = serve(undefined, { cors: { origin: 'https://a.example' } })
    const { headers, body } = await run({ Origin: 'https://a.example', 'Content-Type': 'application/json' })
    expect(headers.get('Access-Control-Allow-Origin')).toBe('https://a.example')
    expect(headers.get('Access-Control-Expose-Headers')).toContain('CHAT_SESSION_ID, Chat-Session-Id')
    await body?.cancel()
  })

  test('gives the engine the same input as a plain reply does', async () => {
    const { engine, run } = serve(undefined, { authorize: () => ({ principal: 'ada', context: { plan: 'pro' } }) })
    const { body } = await run({ CHAT_SESSION_ID: 's1' })
    const { signal, ...input } = engine.inputs[0] ?? {}
    expect(input).toEqual({
      flowName: 'A',
      userMessage: 'hi',
      sessionId: 's1',
      owner: 'ada',
      serverContext: { plan: 'pro' },
    })
    expect(signal?.aborted).toBe(false)
    await body?.cancel()
  })

  test('begins when the session is open, and pulls no more until it is read', async () => {
    const { stream, run } = serve(new FakeStream())
    let begun = false
    const replying = run().then((reply) => {
      begun = true
      return reply
    })
    const loopComesRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    while (stream.asked === 0) await loopComesRound()
    await loopComesRound()
    expect([begun, stream.asked]).toEqual([false, 1])
    stream.push(...events)
    const { body } = await replying
    expect(stream.asked).toBe(1)
    await body?.cancel()
    expect(stream.left).toBe(1)
  })
})

describe('a request that does not ask for a stream', () => {
  test.each(['*/*', 'application/json', 'application/json, text/event-stream;q=0.5'])(
    '%j gets none',
    async (accept) => {
      const { stream, run } = serve()
      const reply = await run({ Accept: accept })
      expect([reply.headers.get('content-type'), stream.asked]).toEqual(['application/json', 0])
    },
  )

  test('gets a plain reply if the engine cannot stream', async () => {
    const { stream: _, ...engine } = createFakeEngine()
    const reply = await createFetchHandler(engine)(
      new Request('http://chat.example/ai/run', {
        method: 'POST',
        headers: { Accept: 'text/event-stream' },
        body: '{"flowName":"A"}',
      }),
    )
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json'])
  })

  test('the other routes never stream', async () => {
    const { engine } = serve()
    const handler = createFetchHandler(engine)
    for (const [path, method] of [
      ['flows', 'GET'],
      ['end', 'POST'],
    ] as const) {
      const reply = await handler(
        new Request(`http://chat.example/ai/${path}`, { method, headers: { Accept: 'text/event-stream' } }),
      )
      expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json'])
    }
  })
})

describe('a turn that fails before its session is open', () => {
  test.each<[FetchHandlerOptions, number, number]>([
    [{}, 400, 400],
    [{ statuses: 'precise' }, 404, 409],
  ])('has its status, and the envelope: %j', async (options, notFound, conflict) => {
    for (const [error, status] of [
      [new FlowNotFoundError({ flowName: 'A' }), notFound],
      [new SessionConflictError({ sessionId: 's1' }), conflict],
    ] as const) {
      const { run } = serve(
        new FakeStream({ type: 'error', response: failed, sessionState: 'running', error }),
        options,
      )
      const reply = await run()
      expect([reply.status, reply.headers.get('content-type'), await reply.json()]).toEqual([
        status,
        'application/json',
        failed,
      ])
      expect([reply.headers.get('Chat-Reply'), reply.headers.get('CHAT_SESSION_ID')]).toEqual(['envelope', 's1'])
    }
  })

  test.each<[string, (stream: FakeStream) => void]>([
    ['throws', (stream) => stream.fail(new Error('secret'))],
    ['ends', (stream) => stream.end()],
  ])('of an engine whose stream %s is the fixed sentence', async (_name, finish) => {
    const reported: unknown[] = []
    const stream = new FakeStream()
    finish(stream)
    const { run } = serve(stream, { onError: (error) => reported.push(error) })
    const reply = await run()
    expect([reply.status, ((await reply.json()) as { message: string }).message]).toEqual([
      400,
      'The request could not be handled.',
    ])
    expect(reported).toHaveLength(1)
  })
})

describe('an invalid request for a stream', () => {
  test('is refused as without a stream, and does not reach the engine', async () => {
    const { engine, run } = serve(undefined, {
      authorize: (request) => (request.headers.has('X-Deny') ? new Response('No.', { status: 401 }) : undefined),
    })
    expect((await run({ 'X-Deny': '1' })).status).toBe(401)
    expect((await run({ CHAT_SESSION_ID: 'a b' })).status).toBe(400)
    expect((await run({}, { body: '{' })).status).toBe(400)
    expect((await run({ Origin: 'https://a.example', 'Content-Type': 'text/plain' })).status).toBe(400)
    expect(engine.inputs).toEqual([])
  })
})

describe('which pieces are sent', () => {
  const named: readonly FlowStreamEvent[] = [
    { type: 'session', session: 's1' },
    { type: 'step', step: 'Secret' },
    { type: 'tool-start', tool: 'secret_tool', toolCallId: 'c1' },
    { type: 'text-delta', text: 'Hi.' },
    { type: 'tool-end', tool: 'secret_tool', toolCallId: 'c1', success: true },
    { type: 'result', response, sessionState: 'running' },
  ]
  const typesOf = async (reply: Response): Promise<string[]> =>
    Array.from((await reply.text()).matchAll(/^event: (.*)$/gm), ([, type]) => type ?? '')

  test('by default none that names a step or a tool', async () => {
    const reply = await serve(new FakeStream(...named)).run()
    const text = await reply.clone().text()
    expect(await typesOf(reply)).toEqual(['session', 'text-delta', 'result'])
    expect(text).not.toMatch(/secret/i)
    expect(text).toContain('id: 2\ndata: {"text":"Hi."}')
  })

  test('not even as the first', async () => {
    const reply = await serve(new FakeStream(...named.slice(1))).run()
    expect(await typesOf(reply)).toEqual(['text-delta', 'result'])
  })

  test('all with streamDetails', async () => {
    const reply = await serve(new FakeStream(...named), { streamDetails: true }).run()
    expect(await typesOf(reply)).toEqual(named.map(({ type }) => type))
  })
})

test('with stream: false a request for a stream gets the plain reply', async () => {
  const { engine, run } = serve(new FakeStream(...events), { stream: false })
  const reply = await run()
  expect([reply.headers.get('Chat-Reply'), reply.headers.get('Content-Type')]).toEqual(['envelope', 'application/json'])
  expect(await reply.json()).toMatchObject({ success: true, message: 'Hello.' })
  expect(engine.streamOptions).toEqual([])
})
