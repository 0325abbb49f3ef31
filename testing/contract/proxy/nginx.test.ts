// Streams through a real nginx, with the configuration that the documentation and examples/nginx show, so that they are
// right. Without nginx these tests are skipped by name; in CI they fail.
import { afterEach, describe, expect, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import type { FlowEngine } from '../../../src/index.js'
import { createChat, type StreamedTurn, streamTurn } from '../http/chatting.js'
import { type GatedCall, GatedModel } from '../http/gated-model.js'
import { type RunningServer, startServer } from '../http/node-server.js'
import type { Send } from '../http/serve.js'
import { isNginxMissing, nginxBlockOf, nginxExample, startNginx } from '../servers/nginx.js'

const documented = nginxBlockOf('docs/streaming.md')
const example = nginxExample()
/** nginx with its defaults, and what a case adds. */
const plain = (...lines: readonly string[]): string =>
  `server { listen 8080; ${lines.join(' ')} location /ai/ { proxy_pass http://127.0.0.1:3000; } }`

const running: { close(): Promise<void> }[] = []

afterEach(async () => {
  for (const item of running.splice(0).reverse()) await item.close()
})

interface Setup {
  readonly model: GatedModel
  readonly engine: FlowEngine
  readonly server: RunningServer
  /** Sends through nginx with this configuration. The example has two servers: the second one is on `otherPort`. */
  through(configuration: string, otherPort?: number): Promise<Send>
}

async function setUp(): Promise<Setup> {
  const model = new GatedModel()
  const engine = createChat(model.provider)
  const server = await startServer(createFetchHandler(engine))
  running.push(server)
  async function through(configuration: string, otherPort = server.port): Promise<Send> {
    const upstreams = configuration.includes('127.0.0.1:3002') ? { 3001: server.port, 3002: otherPort } : server.port
    const nginx = await startNginx(configuration, upstreams)
    running.push(nginx)
    return (path, init) => fetch(`http://127.0.0.1:${nginx.port}/ai${path}`, init)
  }
  return { model, engine, server, through }
}

function answer(call: GatedCall, text: string): void {
  call.say(text)
  call.finish()
}

describe.skipIf(isNginxMissing)('nginx', () => {
  test.each([
    ['as documented', documented],
    ['as in the example', example],
    ['as it comes', plain()],
    ['that compresses', plain('gzip on; gzip_min_length 0; gzip_proxied any; gzip_types text/event-stream;')],
  ])('%s passes events on one by one', async (_name, block) => {
    const { model, through } = await setUp()
    const { events, reply } = await streamTurn(await through(block), { flowName: 'Chatting' })
    // A client in front of nginx gets no further answer.
    expect(reply.headers.get('X-Accel-Buffering')).toBeNull()
    const call = await model.called()
    for (const text of ['One, ', 'two, ', 'three.']) {
      call.say(text)
      expect((await events.until('text-delta')).at(-1)?.data).toEqual({ text })
    }
    call.finish()
    expect(await events.dataOf('result')).toMatchObject({ message: 'One, two, three.' })
    expect(await events.next()).toBeUndefined()
  })

  test.each([
    ['as documented', documented],
    ['as in the example', example],
  ])('%s closes the connection when a client disconnects: the turn is aborted', async (_name, block) => {
    const { model, engine, through } = await setUp()
    const send = await through(block)
    const aborted = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
    const client = new AbortController()
    const { events } = await streamTurn(send, { flowName: 'Chatting' }, {}, { signal: client.signal })
    const call = await model.called()
    call.say('Half')
    await events.until('text-delta')
    client.abort()
    await events.cancel()
    expect(await aborted).toBe('TURN_ABORTED')
    await call.left
  })

  test('as documented passes CHAT_SESSION_ID on, and so does the example', async () => {
    for (const block of [documented, example]) {
      const { model, through } = await setUp()
      const send = await through(block)
      const first = await turn(send, model)
      expect((await turn(send, model, { CHAT_SESSION_ID: first.session })).session).toBe(first.session)
    }
  })

  test('as it comes drops CHAT_SESSION_ID, and passes Chat-Session-Id on', async () => {
    const { model, through } = await setUp()
    const send = await through(plain())
    const { session } = await turn(send, model)
    expect((await turn(send, model, { CHAT_SESSION_ID: session })).session).not.toBe(session)
    expect((await turn(send, model, { 'Chat-Session-Id': session })).session).toBe(session)
  })

  test('that ignores X-Accel-Buffering holds events back, unless its buffering is off', async () => {
    const { model, through } = await setUp()
    const ignoring = 'proxy_ignore_headers X-Accel-Buffering;'
    const buffering = await through(plain(ignoring))
    const unbuffered = await through(plain(ignoring, 'proxy_buffering off;'))
    let hasCome = false
    const held = streamTurn(buffering, { flowName: 'Chatting' }).then(async (reply) => {
      await reply.events.until('text-delta')
      hasCome = true
      return reply
    })
    const heldCall = await model.called()
    heldCall.say('Held.')
    // What is said after it, and goes through an nginx that does not buffer, comes before it.
    const { events } = await streamTurn(unbuffered, { flowName: 'Chatting' })
    const call = await model.called()
    call.say('Passed on.')
    expect(await events.dataOf('text-delta')).toEqual({ text: 'Passed on.' })
    expect(hasCome).toBe(false)
    call.finish()
    heldCall.finish()
    expect(await (await held).events.dataOf('result')).toMatchObject({ message: 'Held.' })
  })

  test('as documented cuts the reply if the server has gone; over HTTP/1.0 it would seem to have ended', async () => {
    for (const [block, isCut] of [
      [documented, true],
      [example, true],
      [plain('proxy_http_version 1.0;'), false],
    ] as const) {
      const { model, server, through } = await setUp()
      const { events } = await streamTurn(await through(block), { flowName: 'Chatting' })
      const call = await model.called()
      call.say('Half')
      await events.until('text-delta')
      await server.close()
      const end = await events.next().then(
        () => 'ended',
        () => 'cut',
      )
      expect([block, end]).toEqual([block, isCut ? 'cut' : 'ended'])
    }
  })
})

describe.skipIf(isNginxMissing)('nginx as in the example', () => {
  test('takes bodies up to the limit of the handler, and none above it', async () => {
    const { through } = await setUp()
    const send = await through(example)
    const sendLetters = (length: number): Promise<Response> =>
      send('/run', { method: 'POST', body: 'x'.repeat(length) })
    const largest = await sendLetters(1024 * 1024)
    // The handler's own answer: it is not JSON.
    expect([largest.status, largest.headers.get('Chat-Error')]).toEqual([400, 'INVALID_INPUT'])
    const larger = await sendLetters(1024 * 1024 + 1)
    expect([larger.status, larger.headers.get('Chat-Error')]).toEqual([413, null])
  })

  test('sends each session to one of two processes, and to the other one if that is gone, from then on too', async () => {
    const [one, other] = [await setUp(), await setUp()]
    const send = await one.through(example, other.server.port)
    const count = { one: 0, other: 0 }
    for (const [name, { model, engine }] of [
      ['one', one],
      ['other', other],
    ] as const) {
      engine.on('turn:start', () => {
        count[name] += 1
      })
      void answerAll(model)
    }
    const sessions: string[] = []
    for (let first = 0; first < 24; first++) sessions.push(await sessionOf(send))
    // First turns go to both.
    expect([count.one > 0, count.other > 0]).toEqual([true, true])
    await one.server.close()
    const before = count.one
    for (const session of sessions) {
      const reply = await send('/run', requestOf(session))
      expect(reply.headers.get('CHAT_SESSION_ID')).toBeTruthy()
    }
    expect([count.one, count.other >= 24]).toEqual([before, true])
  })

  test('refuses what an address sends beyond the rate and the burst, and the processes do not see it', async () => {
    const { engine, model, through } = await setUp()
    // One a minute, so that nothing more passes while the test runs.
    const send = await through(nginxExample('1r/m'))
    let arrived = 0
    engine.on('turn:start', () => {
      arrived += 1
    })
    for (let count = 0; count < 21; count++) await turn(send, model)
    const refused = [await send('/run', requestOf('')), await send('/run', requestOf(''))]
    expect([refused.map(({ status }) => status), arrived]).toEqual([[429, 429], 21])
  })

  test('keeps probes, and what clients say of themselves, from the processes', async () => {
    const { engine, model, through } = await setUp()
    const send = await through(example)
    const reply = await send('/health')
    expect([reply.status, reply.headers.get('Chat-Error')]).toEqual([404, null])
    const ids: (string | undefined)[] = []
    engine.on('turn:start', ({ requestId }) => ids.push(requestId))
    void answerAll(model)
    const turn = await send('/run', requestOf('', { 'Chat-Request-Id': 'mine' }))
    expect(ids).toEqual([turn.headers.get('Chat-Request-Id')])
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/)
  })
})

function requestOf(session: string, more: Record<string, string> = {}): RequestInit {
  const headers = { 'Content-Type': 'application/json', CHAT_SESSION_ID: session, ...more }
  return { method: 'POST', headers, body: '{"flowName":"Chatting","message":"Hello"}' }
}

async function sessionOf(send: Send): Promise<string> {
  return (await send('/run', requestOf(''))).headers.get('CHAT_SESSION_ID') ?? ''
}

/** Answers every call of a model, until the process ends. */
async function answerAll(model: GatedModel): Promise<never> {
  for (;;) answer(await model.called(), 'Yes.')
}

/** One whole turn. */
async function turn(send: Send, model: GatedModel, headers: Record<string, string> = {}): Promise<StreamedTurn> {
  const streamed = await streamTurn(send, { flowName: 'Chatting' }, headers)
  answer(await model.called(), 'Yes.')
  await streamed.events.until('result')
  return streamed
}
