// What only bytes on a socket show: lengths that lie, bodies that never end, headers that no client would write.
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import type { FlowRoutesOptions } from '../../../adapters/fetch/options.js'
import { flowRoutes } from '../../../adapters/hono/index.js'
import { letRun } from './chatting.js'
import { type RunningServer, startServer } from './node-server.js'
import { connectRaw, type RawClient } from './raw-client.js'
import { createEngine, failure } from './serve.js'

const cleanUps: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Setup {
  readonly client: RawClient
  readonly server: RunningServer
  readonly turns: () => number
}

async function setUp(options: FlowRoutesOptions & { maxHeaderSize?: number } = {}): Promise<Setup> {
  const { maxHeaderSize, ...routeOptions } = options
  const engine = createEngine()
  let turns = 0
  engine.on('turn:start', () => turns++)
  const app = new Hono().route('/ai', flowRoutes(engine, routeOptions))
  const server = await startServer(app.fetch, maxHeaderSize === undefined ? {} : { maxHeaderSize })
  const client = await connectRaw(server.port)
  cleanUps.push(server.close, client.destroy)
  return { client, server, turns: () => turns }
}

const head = (...lines: string[]): string =>
  ['POST /ai/run HTTP/1.1', 'Host: chat.example', ...lines, '', ''].join('\r\n')
const good = '{"flowName":"Greeting"}'
const goodRequest = head(`Content-Length: ${good.length}`) + good
const megabytes = (count: number): string => 'x'.repeat(count * 1024 * 1024)
const tooLarge = failure('The request body is larger than 1048576 bytes (maxBodyBytes).')

describe('a body over the limit', () => {
  test('that is declared and never comes is answered at once', async () => {
    const { client, turns } = await setUp()
    client.write(`${head('Content-Length: 3145728')}{"flowName"`)
    const reply = await client.readReply()
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, tooLarge])
    expect(reply.headers).toMatch(/^connection: close$/im)
    expect(turns()).toBe(0)
  })

  test('that is declared and comes: the client can read the answer, then the connection is closed', async () => {
    const { client, turns } = await setUp()
    client.write(head('Content-Length: 3145728') + megabytes(3))
    const reply = await client.readReply()
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, tooLarge])
    await client.closed
    expect(turns()).toBe(0)
  })

  test('in chunks: the client can read the answer, then the connection is closed', async () => {
    const { client, turns } = await setUp()
    client.write(head('Transfer-Encoding: chunked'))
    for (let sent = 0; sent < 3; sent++) client.write(`100000\r\n${megabytes(1)}\r\n`)
    client.write('0\r\n\r\n')
    const reply = await client.readReply()
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, tooLarge])
    await client.closed
    expect(turns()).toBe(0)
  })

  test('in chunks without an end is answered while the client is still sending', async () => {
    const { client } = await setUp({ maxBodyBytes: 1000 })
    client.write(`${head('Transfer-Encoding: chunked')}3e9\r\n${'x'.repeat(1001)}\r\n`)
    expect(JSON.parse((await client.readReply()).body)).toEqual(
      failure('The request body is larger than 1000 bytes (maxBodyBytes).'),
    )
    client.write(`3e9\r\n${'x'.repeat(1001)}\r\n`)
    await client.closed
  })
})

describe('a Content-Length that lies', () => {
  test('shorter than the body: what is left over is not a request, and the connection is closed', async () => {
    const { client, turns } = await setUp()
    client.write(head('Content-Length: 10') + good + megabytes(3))
    // Node may find the bytes that are not a request before the refusal is written; it answers 400 as well.
    expect((await client.readReply()).status).toBe(400)
    await client.closed
    expect(turns()).toBe(0)
  })

  test('longer than the body, whose client goes away: nothing is run', async () => {
    const { client, server, turns } = await setUp()
    client.write(head('Content-Length: 500') + good)
    const other = await connectRaw(server.port)
    cleanUps.push(other.destroy)
    other.write(goodRequest)
    expect((await other.readReply()).status).toBe(200)
    client.destroy()
    await client.closed
    expect(turns()).toBe(1)
  })

  test.each([
    'Content-Length: -5',
    'Content-Length: five',
    'Content-Length: 5\r\nContent-Length: 6',
    'Content-Length: 5\r\nTransfer-Encoding: chunked',
  ])('that is not valid is refused by the server: %j', async (line) => {
    const { client, turns } = await setUp()
    client.write(head(line) + good)
    expect((await client.readReply()).status).toBe(400)
    await client.closed
    expect(turns()).toBe(0)
  })
})

describe('the session header', () => {
  test.each(['a\rb', 'a\nb', 'a\0b'])('%j in its value is refused by the server, and nothing is run', async (value) => {
    const { client, turns } = await setUp()
    client.write(head(`CHAT_SESSION_ID: ${value}`, `Content-Length: ${good.length}`) + good)
    expect((await client.readReply()).status).toBe(400)
    expect(turns()).toBe(0)
  })

  test('a line break in it is another header, which is ignored', async () => {
    const { client } = await setUp()
    client.write(head('CHAT_SESSION_ID: a\r\nX-Evil: 1', `Content-Length: ${good.length}`) + good)
    const reply = await client.readReply()
    expect(reply.status).toBe(200)
    expect(reply.headers).not.toMatch(/evil/i)
  })

  test('16 KB of it are too much for the server', async () => {
    const { client, turns } = await setUp()
    client.write(head(`CHAT_SESSION_ID: ${'x'.repeat(16_384)}`, `Content-Length: ${good.length}`) + good)
    expect((await client.readReply()).status).toBe(431)
    expect(turns()).toBe(0)
  })

  test('16 KB of it are refused with a sentence if the server accepts such headers', async () => {
    const { client, turns } = await setUp({ maxHeaderSize: 65_536 })
    client.write(head(`CHAT_SESSION_ID: ${'x'.repeat(16_384)}`, `Content-Length: ${good.length}`) + good)
    const reply = await client.readReply()
    expect([reply.status, JSON.parse(reply.body).message]).toEqual([
      400,
      'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.',
    ])
    expect(turns()).toBe(0)
  })

  test('sent twice is refused', async () => {
    const { client, turns } = await setUp()
    client.write(head('CHAT_SESSION_ID: a', 'CHAT_SESSION_ID: a', `Content-Length: ${good.length}`) + good)
    expect((await client.readReply()).status).toBe(400)
    expect(turns()).toBe(0)
  })

  test('is answered under the name that the contract writes', async () => {
    const { client } = await setUp()
    client.write(goodRequest)
    expect((await client.readReply()).headers).toMatch(/^CHAT_SESSION_ID: [\w-]{32}$/m)
  })
})

describe('a connection is kept', () => {
  test.each([
    ['after a bad body', `${head('Content-Length: 1')}{`, 400],
    ['after an empty body', head('Content-Length: 0'), 400],
    ['after a body in chunks', `${head('Transfer-Encoding: chunked')}17\r\n${good}\r\n0\r\n\r\n`, 200],
    [
      'after a refused session ID, whose body nobody read',
      head('CHAT_SESSION_ID: a,b', `Content-Length: ${good.length}`) + good,
      400,
    ],
    ['after an unknown path', (head(`Content-Length: ${good.length}`) + good).replace('/ai/run', '/ai/x'), 404],
    ['after a wrong method', (head(`Content-Length: ${good.length}`) + good).replace('POST', 'PUT'), 405],
  ])('%s', async (_name, request, status) => {
    const { client } = await setUp()
    client.write(request)
    expect((await client.readReply()).status).toBe(status)
    client.write(goodRequest)
    expect((await client.readReply()).status).toBe(200)
  })
})

describe('a body whose Content-Length says nothing about it', () => {
  /**
   * A server whose application puts another body in place of the one that was sent, as middleware that inflates does.
   */
  async function serveInflated(chunk: Uint8Array, chunks: number): Promise<{ client: RawClient; given: () => number }> {
    const engine = createEngine()
    const routes = new Hono().route('/ai', flowRoutes(engine))
    let given = 0
    const server = await startServer((request) => {
      const body = new ReadableStream<Uint8Array>(
        {
          pull(controller) {
            if (given++ < chunks) controller.enqueue(chunk)
            else controller.close()
          },
        },
        { highWaterMark: 0 },
      )
      const { url, method, headers } = request
      return routes.fetch(new Request(url, { method, headers, body, duplex: 'half' } as RequestInit))
    })
    const client = await connectRaw(server.port)
    cleanUps.push(server.close, client.destroy, () => engine.close())
    return { client, given: () => given }
  }

  test('is cut at the limit while it is read: of 400 MiB behind a length of 10 no more than twice the limit', async () => {
    const { client, given } = await serveInflated(new Uint8Array(64 * 1024), 6400)
    client.write(`${head('Content-Length: 10')}0123456789`)
    const reply = await client.readReply()
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, tooLarge])
    await client.closed
    expect(given()).toBeLessThan(40)
  })

  test('one that is smaller is refused too', async () => {
    const { client } = await serveInflated(new TextEncoder().encode(good), 1)
    client.write(`${head('Content-Length: 10')}0123456789`)
    const reply = await client.readReply()
    expect(JSON.parse(reply.body)).toEqual(
      failure('The request body does not have the length that Content-Length says.'),
    )
  })
})

test('a body that stops coming is answered with 408, and its connection is closed', async () => {
  const { client, turns } = await setUp({ bodyTimeoutMs: 20, statuses: 'precise' })
  client.write(`${head(`Content-Length: ${good.length}`)}{"flow`)
  const reply = await client.readReply()
  expect(reply.status).toBe(408)
  expect(reply.headers).toMatch(/^connection: close$/im)
  expect(JSON.parse(reply.body)).toEqual(failure('The request body took longer than 20 ms (bodyTimeoutMs).'))
  await client.closed
  expect(turns()).toBe(0)
})

test('a body that is there whole is taken without a stream, and the connection is kept', async () => {
  const engine = createEngine()
  const routes = new Hono().route('/ai', flowRoutes(engine))
  let streams = 0
  const server = await startServer((request) => {
    const body = Object.getPrototypeOf(request)
    Object.defineProperty(request, 'body', {
      get() {
        streams++
        return Reflect.get(body, 'body', request)
      },
    })
    return routes.fetch(request)
  })
  const client = await connectRaw(server.port)
  cleanUps.push(server.close, client.destroy, () => engine.close())
  for (const request of [goodRequest, goodRequest]) {
    client.write(request)
    expect((await client.readReply()).status).toBe(200)
  }
  expect(streams).toBe(0)
  // In two parts, of which the handler sees the first.
  client.write(goodRequest.slice(0, -4))
  await letRun()
  client.write(goodRequest.slice(-4))
  expect((await client.readReply()).status).toBe(200)
  expect(streams).toBeGreaterThan(0)
})
