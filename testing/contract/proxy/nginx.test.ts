// Streams through a real nginx, with the configuration that the documentation shows, so that the page is right. Without
// nginx these tests are skipped by name; in CI they fail.
import { afterEach, describe, expect, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import type { FlowEngine } from '../../../src/index.js'
import { createChat, type StreamedTurn, streamTurn } from '../http/chatting.js'
import { type GatedCall, GatedModel } from '../http/gated-model.js'
import { type RunningServer, startServer } from '../http/node-server.js'
import type { Send } from '../http/serve.js'
import { isNginxMissing, nginxBlockOf, startNginx } from '../servers/nginx.js'

const documented = nginxBlockOf('docs/streaming.md')
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
  /** Sends through nginx with this configuration. */
  through(serverBlock: string): Promise<Send>
}

async function setUp(): Promise<Setup> {
  const model = new GatedModel()
  const engine = createChat(model.provider)
  const server = await startServer(createFetchHandler(engine))
  running.push(server)
  async function through(serverBlock: string): Promise<Send> {
    const nginx = await startNginx(serverBlock, server.port)
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

  test('as documented closes the connection when a client disconnects: the turn is aborted', async () => {
    const { model, engine, through } = await setUp()
    const send = await through(documented)
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

  test('as documented passes CHAT_SESSION_ID on, and so does the configuration in docs/http.md', async () => {
    for (const block of [documented, nginxBlockOf('docs/http.md')]) {
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

/** One whole turn. */
async function turn(send: Send, model: GatedModel, headers: Record<string, string> = {}): Promise<StreamedTurn> {
  const streamed = await streamTurn(send, { flowName: 'Chatting' }, headers)
  answer(await model.called(), 'Yes.')
  await streamed.events.until('result')
  return streamed
}
