// Requests below a mount and behind a body parser. testing/contract/http has the real frameworks.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { type NodeListener, toNodeListener } from './index.js'

const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

const cleanUps: (() => void)[] = []

afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

async function serve(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(listener)
  cleanUps.push(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Replies with the path, the body and the headers that describe the body. */
const echo: NodeListener = toNodeListener(async (request) =>
  Response.json({
    path: new URL(request.url).pathname,
    body: await request.text(),
    length: request.headers.get('content-length'),
    encoding: request.headers.get('content-encoding'),
  }),
)

test('below a mount the handler sees the whole path, and later middleware the original one', async () => {
  let after: string | undefined
  const url = await serve((request, response) => {
    Object.assign(request, { originalUrl: request.url, url: '/run' })
    echo(request, response)
    after = request.url
  })
  expect(await (await fetch(`${url}/ai/run?x=1`)).json()).toMatchObject({ path: '/ai/run' })
  expect(after).toBe('/run')
})

test.each([
  ['an object', { body: { flowName: 'A', message: 'é' } }, '{"flowName":"A","message":"é"}'],
  ['a text', { body: 'text' }, 'text'],
  ['bytes', { body: Buffer.from('bytes') }, 'bytes'],
  ['bytes beside an object', { body: { other: 1 }, rawBody: Buffer.from('{ }') }, '{ }'],
])('a body that was read is what the parser left: %s, without the headers of the wire', async (_what, parsed, body) => {
  const url = await serve((request, response) => {
    request.resume().once('end', () => {
      Object.assign(request, parsed)
      echo(request, response)
    })
  })
  const sent = { method: 'POST', headers: { 'Content-Encoding': 'identity' }, body: '{ "flowName" : "A" }' }
  expect(await (await fetch(url, sent)).json()).toMatchObject({ body, length: null, encoding: null })
})

test('an unread body is taken from the wire, whatever the field body has', async () => {
  const url = await serve((request, response) => {
    Object.assign(request, { body: {} })
    echo(request, response)
  })
  const reply = await fetch(url, { method: 'POST', body: '{ "flowName" : "A" }' })
  expect(await reply.json()).toMatchObject({ body: '{ "flowName" : "A" }', length: '20' })
})

/** Sends a request whose body a parser has read, and returns the reply. */
async function replyToParsed(method: string, body: unknown): Promise<{ status: number; text: string }> {
  const listener = toNodeListener((request) => new Response(request.method))
  const url = await serve((incoming, response) => {
    incoming.resume().once('end', () => {
      Object.assign(incoming, { body })
      listener(incoming, response)
    })
  })
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, headers: { 'Content-Length': 2 } }, async (reply) => {
      resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(await reply.toArray()).toString() })
    })
    sending.on('error', reject).end('{}')
  })
}

test.each([
  ['GET', {}, 'GET'],
  ['HEAD', {}, ''],
  ['POST', cyclic, 'POST'],
  ['POST', 1n, 'POST'],
])('the handler answers %s with the parsed body %o, of which no request can be made', async (method, body, text) => {
  expect(await replyToParsed(method, body)).toEqual({ status: 200, text })
})

test('a handler that is not a function is refused', () => {
  expect(() => toNodeListener({} as never)).toThrow(
    'toNodeListener: the first argument must be a function, such as createFetchHandler(engine) returns.',
  )
})

test('an older @hono/node-server is refused', async () => {
  vi.resetModules()
  vi.doMock('@hono/node-server', () => ({ getRequestListener: () => () => {} }))
  const older = await import('./index.js')
  vi.doUnmock('@hono/node-server')
  expect(() => older.toNodeListener(() => new Response())).toThrow(
    'toNodeListener: turnkeeper/node needs @hono/node-server 2.1.6 or later: npm install @hono/node-server@2 hono@4.',
  )
})
