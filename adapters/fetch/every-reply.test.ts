// Every reply of the adapter, refusals included, has the ID of the request and the headers that keep it out of caches.
import { afterEach, describe, expect, test } from 'vitest'
import { FlowEngine } from '../../src/index.js'
import { createFakeEngine, resultOf } from '../../testing/contract/http/fake-engine.js'
import { FakeStream } from '../../testing/contract/http/fake-stream.js'
import { flows } from '../../testing/contract/http/flows.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

const engines: FlowEngine[] = []

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
})

function realEngine(): FlowEngine {
  const engine = new FlowEngine({ flows })
  engines.push(engine)
  return engine
}

const page = { Origin: 'https://shop.example' }

const requests: readonly [
  name: string,
  method: string,
  path: string,
  body?: string | undefined,
  options?: FetchHandlerOptions,
][] = [
  ['a turn', 'POST', '/ai/run', '{"flowName":"Greeting"}'],
  ['a failed turn', 'POST', '/ai/run', '{"flowName":"Nobody"}'],
  ['a bad body', 'POST', '/ai/run', '{'],
  ['a large body', 'POST', '/ai/run', '{"flowName":"Greeting"}', { maxBodyBytes: 3 }],
  ['the flows', 'GET', '/ai/flows'],
  ['the head of the flows', 'HEAD', '/ai/flows'],
  ['a delete', 'POST', '/ai/end'],
  ['a cancel', 'POST', '/ai/cancel'],
  ['an unknown path', 'GET', '/elsewhere'],
  ['a wrong method', 'PUT', '/ai/run'],
  ['a preflight', 'OPTIONS', '/ai/run', undefined, { cors: { origin: 'https://shop.example' } }],
  ['a refused caller', 'GET', '/ai/flows', undefined, { authorize: () => new Response(null, { status: 401 }) }],
  ['a redirect', 'GET', '/ai/flows', undefined, { authorize: () => Response.redirect('https://login.example/') }],
  ['a broken authorize', 'GET', '/ai/flows', undefined, { authorize: () => false as never, onError: () => {} }],
]

describe.each(requests)('%s', (_name, method, path, body, options) => {
  const send = (headers: Record<string, string>): Promise<Response> =>
    createFetchHandler(
      realEngine(),
      options,
    )(new Request(`http://chat.example${path}`, { method, headers: { ...page, ...headers }, ...(body && { body }) }))

  test('has the ID of its request, and forbids caching', async () => {
    const { headers } = await send({ 'Chat-Request-Id': 'edge-7.a_b:C' })
    expect(headers.get('Chat-Request-Id')).toBe('edge-7.a_b:C')
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff')
  })

  test('gets a new ID if the request has no valid one', async () => {
    const ids = [
      (await send({})).headers.get('Chat-Request-Id'),
      (await send({ 'Chat-Request-Id': '<script>' })).headers.get('Chat-Request-Id'),
    ]
    for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/)
    expect(new Set(ids).size).toBe(2)
  })
})

test.each([
  ['', false],
  ['a', true],
  ['a'.repeat(128), true],
  ['a'.repeat(129), false],
  ['a b', false],
  ['a,b', false],
  ['a/b', false],
  ['"a"', false],
  ['ä', false],
])('the ID %j is taken: %s', async (sent, isTaken) => {
  const engine = createFakeEngine()
  const request = new Request('http://chat.example/ai/end', { method: 'POST', headers: { 'Chat-Request-Id': sent } })
  const reply = await createFetchHandler(engine)(request)
  expect(reply.headers.get('Chat-Request-Id') === sent).toBe(isTaken)
  expect(engine.requestIds).toEqual([reply.headers.get('Chat-Request-Id')])
})

test('the engine gets the ID with a turn, streamed or not, a delete and a cancel', async () => {
  const engine = createFakeEngine({ stream: () => new FakeStream({ type: 'session', session: 's1' }) })
  const handler = createFetchHandler(engine)
  const headers = { 'Chat-Request-Id': 'r1', CHAT_SESSION_ID: 's1' }
  const body = '{"flowName":"A"}'
  await handler(new Request('http://chat.example/ai/run', { method: 'POST', headers, body }))
  const streamed = { ...headers, Accept: 'text/event-stream' }
  await handler(new Request('http://chat.example/ai/run', { method: 'POST', headers: streamed, body }))
  await handler(new Request('http://chat.example/ai/end', { method: 'POST', headers }))
  await handler(new Request('http://chat.example/ai/cancel', { method: 'POST', headers }))
  expect(engine.requestIds).toEqual(['r1', 'r1', 'r1', 'r1'])
})

test("the application's own cache headers stay: in raw replies, and in a Response of authorize", async () => {
  const engine = createFakeEngine({ execute: () => resultOf({ contentType: 'text/csv' }) })
  const run = new Request('http://chat.example/ai/run', { method: 'POST', body: '{"flowName":"A"}' })
  const raw = await createFetchHandler(engine, {
    rawHeaders: { 'cache-control': null, 'X-Content-Type-Options': 'x' },
  })(run)
  expect([raw.headers.get('Cache-Control'), raw.headers.get('X-Content-Type-Options')]).toEqual([null, 'x'])
  const authorize = (): Response => new Response(null, { status: 401, headers: { 'Cache-Control': 'private' } })
  const refused = await createFetchHandler(engine, { authorize })(new Request('http://chat.example/ai/flows'))
  expect(refused.headers.get('Cache-Control')).toBe('private')
})
